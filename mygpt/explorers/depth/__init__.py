"""The explorer Depth: `widget.py`, and `widget.mjs` in the page."""
