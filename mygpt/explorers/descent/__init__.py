"""The explorer Descent: `widget.py`, and `widget.mjs` in the page."""
