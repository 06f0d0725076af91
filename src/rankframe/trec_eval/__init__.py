"""Stand in for trec_eval: take its options, compute its measures, print its output lines.

The package can also check an existing output of trec_eval, line by line. It runs rankframe's
evaluation once, under trec_eval's conventions.
"""
