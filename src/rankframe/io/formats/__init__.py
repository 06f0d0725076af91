"""Recognise, read and write file formats (`registry.py`).

This package does not know where files are (`sources`) or what columns mean (`column_names.py`).
"""
