"""The report: one HTML page that needs nothing else.

Gathers what the rooms below computed and drew, and puts it on a page; computes nothing itself.
"""
