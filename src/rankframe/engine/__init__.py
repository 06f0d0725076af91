"""Evaluate metrics: plan, values per query, accumulators, `Result`. In memory or in partitions.

Also the ledger, memory limits, and the public functions that evaluate.
"""
