"""Replace trec_eval: its measures, options and output lines, and a check against its output.

Runs the usual evaluation once, under trec_eval's conventions.
"""
