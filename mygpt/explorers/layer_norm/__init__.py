"""The explorer LayerNorm: `widget.py`, and `widget.mjs` in the page."""
