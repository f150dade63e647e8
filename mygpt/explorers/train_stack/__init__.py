"""The explorer TrainStack: `widget.py`, and `widget.mjs` in the page."""
