"""Runs that take longer than a chapter may: `python -m runs.NAME` stores one.

`runs/NAME.py` writes `mygpt/stored/NAME.json`; the chapters read it by `load_runs`.
"""
