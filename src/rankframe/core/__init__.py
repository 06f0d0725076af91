"""Declare what every package uses: options, column names, errors, messages, progress, tables.

Nothing here reads data or imports another package.
"""
