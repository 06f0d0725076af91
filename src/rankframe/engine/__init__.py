"""How work over two inputs is done, whatever the work is: in memory, streamed, or in pieces.

Plans, pieces, memory and sums that add up. What a judgment is, the engine does not know.
"""
