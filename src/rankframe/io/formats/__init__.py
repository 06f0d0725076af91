"""File formats: how files of each begin, and how they are read and written (`registry.py`).

Where files are (`sources`) and what their columns mean (`column_names.py`) is not known here.
"""
