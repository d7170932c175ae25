"""Fuzzers: mutated files and libraries for every reader; ``make fuzz MINUTES=15``.

Readers may only raise motionloom's own errors. No process may die, no input may take more than ten
seconds, and memory must stay below two gigabytes. Inputs are generated from a seed, which is
enough to repeat a run. See `SECURITY.md` for the results of the last run.
"""
