"""From numbers to decisions: comparisons with their tests, diffs, gates, unjudged documents.

Works on per-query values of several systems. How they are shown or drawn is not decided here.
"""
