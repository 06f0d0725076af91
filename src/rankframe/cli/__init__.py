"""The command line: one module a command. typer and rich live here and nowhere else.

Commands read options, call the public API, and show what it gives; heavy imports wait until then.
"""

from rankframe.cli.app import main

__all__ = ["main"]
