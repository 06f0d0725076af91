"""Render tables on a terminal, and results as text for other programs: JSON, CSV, Markdown.

Tables fit the width of the terminal. This package computes nothing and reads no option.
"""
