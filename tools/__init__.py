"""The notebooks run, compared and counted: `python -m tools.NAME`."""
