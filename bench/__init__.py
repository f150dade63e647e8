"""Benchmarks: `python -m bench.NAME` prints one's figures, and the machine's name."""
