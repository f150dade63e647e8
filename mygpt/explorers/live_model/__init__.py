"""The explorer LiveModel: `widget.py`, and `widget.mjs` in the page."""
