"""The explorer Tokens: `widget.py`, and `widget.mjs` in the page."""
