"""Which of our mistakes would the tests notice? `make mutants` makes hundreds of them.

A mutant is the project with one operator changed in one place. A fixed sample is drawn,
by the hash of each place, from the package, the notebooks' comparison, the prose, the
search, and the explorers' scripts. Each mutant runs the tests that execute its place;
the one that survives them is a mistake that nobody would have noticed.
"""
