"""What messages are made of: options as Python or the shell writes them, inputs that may be one
of several runs, and lists of names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_LONGEST = 200
# What the flags of the command line are called, where not as the option of the function is.
_FLAGS = {"columns": "column", "metrics": "metric", "only": "query"}


@dataclass(frozen=True)
class Option:
    """An option that a message speaks of, or advises to pass with a value.

    >>> Option("duplicates", "keep_best").said(), Option("k_max").said(flags=True)
    ('duplicates="keep_best"', '--k-max')
    """

    name: str
    value: object = None
    # it stands in a sentence as a name, without the sign that follows it in a call
    bare: bool = False

    def said(self, *, flags: bool = False) -> str:
        """As it is written in a call, or on a command line."""
        value = self.value
        if not flags and self.bare:
            return self.name
        if not flags:
            return f"{self.name}={'' if value is None else _literal(value)}"
        flag = f"--{_FLAGS.get(self.name, self.name).replace('_', '-')}"
        if value is None or value is True:
            return flag
        if isinstance(value, Mapping):
            return " ".join(f"{flag} {key}={of}" for key, of in value.items())
        return f"{flag} {value}"


@dataclass(frozen=True)
class Role:
    """An input that a message speaks of; of several runs, the error knows which one it is."""

    name: str

    def said(self, run: str) -> str:
        """What it is called, and which run it is, if it is one."""
        return f"{self.name} {run}".rstrip() if self.name == "run" else self.name


# What a message is made of.
Part: TypeAlias = str | Option | Role


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that look most like this one, without regard to case."""
    if len(name) > _LONGEST:  # the time it takes grows with the square of its length
        return []
    by_lower = {k.lower(): k for k in known}
    return [
        by_lower[m] for m in difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=0.7)
    ]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or nothing."""
    near = nearest(name, known)
    return f"Did you mean {near[0]!r}?" if near else ""


def sentences(*said: Sequence[Part]) -> list[Part]:
    """Sentences one after the other, each with its full stop; those without words are left out."""
    parts: list[Part] = []
    for sentence in said:
        if not sentence or sentence == ("",):
            continue
        last = sentence[-1]
        stop = "" if isinstance(last, str) and last.endswith((".", "?", "!")) else "."
        parts += [*([" "] if parts else []), *sentence, stop]
    return parts


def _literal(value: object) -> str:
    """A value as people type it: text in double quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{key}": "{of}"' for key, of in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def listing(names: Sequence[str], most: int = 12) -> str:
    """Names, quoted, and how many more there are."""
    shown = ", ".join(repr(shorten(name)) for name in names[:most])
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return (shown + more) or "nothing"


def shown(value: object, most: int = 80) -> str:
    """A value as Python writes it, in one line, if that is not too long."""
    try:
        return shorten(repr(value).replace("\n", " "), most)
    except ValueError:  # Python does not write whole numbers of thousands of digits
        return "a number of thousands of digits"


def shorten(text: str, most: int = 80) -> str:
    """Text that is not too long for a message."""
    return text if len(text) <= most else text[: most - 1] + "…"
