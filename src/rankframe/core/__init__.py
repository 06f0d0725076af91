"""What every room may use: errors, column names, options, progress, wording, places for outputs.

Nothing here reads data or computes with it; nothing here imports another room.
"""
