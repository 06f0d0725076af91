"""Convert numbers to Float64, and keep the rounding error of large whole numbers.

Floats hold whole numbers up to 2^53; nanosecond timestamps are larger. The rounding error of a
score is a column of its own (`SCORE_REST`), which orders equal floats; computations use the floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.columns import SCORE, SCORE_REST

_WIDE = pl.Int128
# Types of numbers that a float may not hold.
MAYBE_LARGE = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128, pl.String)
_LARGEST = {pl.Int64: (1 << 63) - 1, _WIDE: (1 << 127) - 1}
# Above this number, adjacent floats differ by more than 1.
_LARGEST_EXACT = float(1 << 53)
# Types that numpy would convert to numbers: complex numbers to their real part, dates to days.
_NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64)
_NUMBERS = (int, float, np.number)


def beyond_float(source: str, dtype: pl.DataType) -> pl.Expr:
    """Return an expression for the rounding error of whole numbers as floats: number − float.

    Whole numbers may have up to 128 bits; the error of any other number is 0. A column of floats is
    returned as it is, as the rounding error itself.
    """
    column = pl.col(source).str.strip_chars() if dtype == pl.String else pl.col(source)
    if dtype.is_float():
        return column.cast(pl.Float64)
    kind = pl.Int64 if dtype == pl.Int64 else _WIDE  # the wide type takes six times as long
    whole = column.cast(kind, strict=False)
    rounded = whole.cast(pl.Float64).cast(kind, strict=False)
    # The float nearest to the type's maximum is larger than the maximum by one.
    beyond = rounded.is_null().cast(pl.Float64)
    rest = (whole - rounded.fill_null(_LARGEST[kind])).cast(pl.Float64) - beyond
    return rest.fill_null(0)


def whole_again(frame: pl.DataFrame) -> pl.DataFrame:
    """Restore the scores of a run that were whole numbers, with the digits that floats had lost.

    Raises:
        OverflowError: only some scores are such numbers, or some are too large for 64 bits: no type
            that every format can hold keeps their order.
    """
    if SCORE_REST not in frame.columns:
        return frame
    score, rest = frame[SCORE], frame[SCORE_REST]
    plain = frame.drop(SCORE_REST)
    if not (rest != 0).any():
        return plain
    if (score == score.round()).all():
        with suppress(pl.exceptions.PolarsError):
            exact = score.cast(_WIDE) + rest.cast(_WIDE)
            for narrower in (pl.Int64, pl.UInt64):
                with suppress(pl.exceptions.PolarsError):
                    return plain.with_columns(exact.cast(narrower))
    raise OverflowError


def types_of(values: Iterable[Any]) -> set[type]:
    """Return the set of the types of `values`."""
    kinds = list(map(type, values))
    # If all types are equal, counting takes half as long as building a set.
    first = set(kinds[:1])
    return first if first and kinds.count(kinds[0]) == len(kinds) else set(kinds)


def given_numbers(values: Sequence[Any]) -> pl.Series:
    """Return Python's numbers as a column of floats, or of integers if floats cannot hold them.

    Raises:
        ValueError: a value is not a number.
    """
    kinds = types_of(values)
    if kinds == {float}:
        return pl.Series(values, dtype=pl.Float64)
    if bad := tuple(kind for kind in kinds if issubclass(kind, _NO_NUMBERS)):
        raise ValueError(repr(next(value for value in values if isinstance(value, bad))))
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:
        raise ValueError("a whole number of more than 300 digits") from None
    except (TypeError, ValueError):
        odd = next((value for value in values if not isinstance(value, _NUMBERS)), None)
        raise ValueError(repr(odd)) from None
    whole = all(issubclass(kind, int | np.integer) for kind in kinds)
    if whole and len(numbers) and float(np.abs(numbers).max()) >= _LARGEST_EXACT:
        for wide in (pl.Int64, pl.UInt64, pl.Int128):
            with suppress(OverflowError, TypeError, pl.exceptions.PolarsError):
                return pl.Series(list(map(int, values)), dtype=wide)
    return pl.Series(numbers)


def turned(numbers: pl.Series) -> pl.Series:
    """Negate numbers; whole numbers of any type become Int128."""
    if numbers.dtype == pl.Float64:
        return -numbers
    return pl.Series([0], dtype=pl.Int128) - numbers.cast(pl.Int128)
