"""The reader's workbook: a folder of files or a notebook, and how far it is solved."""
