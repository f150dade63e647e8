"""After a failure: what the program makes that is right, what not, and in which line.

The program is run once more on every probe, and each tensor that it makes is looked up
among those that right programs make: by its numbers, whatever its layout. So nothing is
said of a program that is right, and nothing depends on names.
"""
