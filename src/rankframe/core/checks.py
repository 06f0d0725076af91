"""What a value that somebody gave may be: numbers that fit, counts, flags, names of columns."""

from __future__ import annotations

import math
from numbers import Integral, Real

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown

_LARGEST = (1 << 63) - 1
# Grades, gains and weights up to it can be multiplied and added up without end.
LARGEST_WEIGHT = 1e100
# Of a metric or a rule: whatever is longer was not meant.
LONGEST_NAME = 1_000


def is_number(value: object) -> bool:
    """Whether something can be a relevance level."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def is_count(value: object) -> bool:
    """Whether something is a whole number of at least 1, and of no more than 64 bits."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return 1 <= int(value) <= _LARGEST


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither true nor false: "no" would be true."""
    if not isinstance(value, bool):
        raise OptionError(Option(name, bare=True), f" must be True or False, not {shown(value)}.")


def is_text(name: str) -> bool:
    """Whether a name is text to every library: one of a file may hold bytes that are none."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_pattern(name: str) -> bool:
    """Whether polars takes the name of a column for several columns."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))
