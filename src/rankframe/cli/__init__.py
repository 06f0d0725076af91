"""The command line: one module a command. typer lives here and nowhere else.

Commands read options, call the rooms below, and show what they give; heavy imports wait for that.
"""

from rankframe.cli.process import guarded

__all__ = ["main"]


def main() -> None:
    """Run the command line. Even what it imports is imported under guard."""

    def work() -> int:
        from rankframe.cli.app import run

        return run()

    guarded(work)
