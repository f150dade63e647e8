"""The explorer Attention: `widget.py`, and `widget.mjs` in the page."""
