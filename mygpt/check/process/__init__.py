"""The process that runs a reader's program, and what comes out of it."""
