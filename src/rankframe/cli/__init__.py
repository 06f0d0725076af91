"""Offer every function as a command, one module per command.

Commands parse flags, call the packages below and print the results. Heavy imports happen only
when a command needs them.
"""

from rankframe.cli.process import guarded

__all__ = ["main"]


def main() -> None:
    """Run the command line. Even what it imports is imported under guard."""

    def work() -> int:
        from rankframe.cli.app import run

        return run()

    guarded(work)
