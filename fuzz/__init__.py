"""Fuzzers: mutated files and libraries for every reader; ``make fuzz MINUTES=15``.

Nothing but our own errors may be raised, no process may die, no input may take more than ten
seconds, and memory stays below two gigabytes. Inputs are made from seeds: a number tells all of
them, and a run is repeated by it. See `SECURITY.md` for what the last run found.
"""
