"""Declare options, column names, errors, messages, progress and tables for all other packages.

Nothing here reads data or imports another package.
"""
