"""Evaluate metrics: plan, values per query, accumulators, `Result`. In memory or in partitions.

The ledger, memory limits, and the public functions that evaluate are here, too.
"""
