"""Offer every function as a command, one module per command.

Commands parse flags, call the packages below and print the results. Heavy imports happen only
when a command needs them.
"""

import gc

from rankframe.cli.process import guarded

__all__ = ["main"]


def main() -> None:
    """Run the command line. Even what it imports is imported under guard."""
    # What imports make stays: to look for garbage in it again and again is a tenth of a small call.
    gc.set_threshold(10_000)

    def work() -> int:
        from rankframe.cli.app import run

        return run()

    guarded(work)
