"""The explorer Activations: `widget.py`, and `widget.mjs` in the page."""
