"""Build the report, one self-contained HTML page.

The package collects results and charts of other packages, and computes nothing itself.
"""
