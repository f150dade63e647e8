"""The explorer Sampling: `widget.py`, and `widget.mjs` in the page."""
