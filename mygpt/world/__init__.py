"""The small world: a text whose every fact is known."""
