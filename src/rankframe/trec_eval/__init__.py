"""The drop-in for trec_eval: its measures, options and lines, and a check against its output.

One pass of the usual evaluation under trec_eval's conventions; metrics are those of `metrics`.
"""
