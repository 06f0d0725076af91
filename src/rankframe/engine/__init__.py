"""Evaluate metrics over two inputs: in memory, partition by partition, or on a cluster.

Plans, pieces, memory and sums that add up. What a judgment is, the engine does not know.
"""
