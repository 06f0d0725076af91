"""Tell what a value is: a number, a count, a text, a pattern of names."""

from __future__ import annotations

import math
from numbers import Integral, Real

_LARGEST = (1 << 63) - 1
# Products and sums of grades, gains and weights up to it do not overflow.
LARGEST_WEIGHT = 1e100
# The longest name of a metric or a rule.
LONGEST_NAME = 1_000


def is_number(value: object) -> bool:
    """Tell whether a value is a number that a float can hold, and not NaN."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def is_count(value: object) -> bool:
    """Tell whether a value is a whole number of at least 1, and of at most 64 bits."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return 1 <= int(value) <= _LARGEST


def is_text(name: str) -> bool:
    """Tell whether a name is valid Unicode: names of files may hold other bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_pattern(name: str) -> bool:
    """Tell whether polars reads the name of a column as a pattern for several."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))
