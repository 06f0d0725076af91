"""What the engine is used for: evaluating a run, comparing two rankings; results and ledgers.

Here pieces become summaries. What follows from the numbers is decided in the rooms above.
"""
