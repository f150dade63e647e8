"""After a failure: the small edit of the reader's own source that makes it right.

Edits are tried on copies in memory, nearest to the line that the stages give first; one
counts only if the program then passes every probe, property and gradient, and inputs
that the task does not list.
"""
