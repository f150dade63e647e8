"""How well does the checker name and mend what is wrong? `make mends` counts it.

The sets of wrong programs stand in tests/check/mends: those of `open` and `held` are
wrong by one change, made from right programs by cosmic-ray; `pairs` by two. `written`,
where it is there, holds programs that were written wrongly by hand.
"""
