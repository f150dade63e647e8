"""The tasks, one module for each part of the book."""
