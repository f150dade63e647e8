"""The explorer BlockWalk: `widget.py`, and `widget.mjs` in the page."""
