"""Transforms of the text: numbers, terms, claims, folded readings."""
