"""The command line: one module a command. typer and rich live here and nowhere else.

Commands read options, call the rooms below, and show what they give; heavy imports wait for that.
"""

from rankframe.cli.app import main

__all__ = ["main"]
