"""What the modules share: checks of arguments, files, seeds, free memory, runs."""
