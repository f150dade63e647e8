"""The plain edition: every notebook in Markdown that each viewer of notebooks shows.

The committed notebooks are written for the site, in MyST. Here their roles, directives,
labels and references become CommonMark, formulas and a little HTML that JupyterLab,
Colab, VS Code and GitHub all keep; the code and its outputs stay as they are.
"""
