"""A GPT that is trained in the page on any text."""
