"""The explorer Shapes: `widget.py`, and `widget.mjs` in the page."""
