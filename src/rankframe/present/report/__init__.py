"""Build the report, one self-contained HTML page.

Gathers what the rooms below computed and drew, and puts it on a page; computes nothing itself.
"""
