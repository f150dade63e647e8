"""After a failure: which tensors of the program are right, which not, in which line.

The program is run once more on every probe, and each of its tensors is looked up among
the tensors of right programs: by its numbers, whatever its layout. So nothing is said
of a right program, and nothing depends on names.
"""
