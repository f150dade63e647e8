"""The explorer Memory: `widget.py`, and `widget.mjs` in the page."""
