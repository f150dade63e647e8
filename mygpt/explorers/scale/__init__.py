"""The explorer Scale: `widget.py`, and `widget.mjs` in the page."""
