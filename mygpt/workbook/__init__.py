"""What the tasks ask, and the files in which a reader answers: without PyTorch."""
