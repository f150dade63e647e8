"""The command `mygpt`."""
