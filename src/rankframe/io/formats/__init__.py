"""What the bytes of files mean: a table of formats, each with how it begins, is read and written.

Where a file lies, and what its columns mean, is not known here: see `sources` and `inputs`.
"""
