"""Print values as trec_eval does: `%-22s`, a tab, the query, a tab, `%6.4f`.

Text is formatted column by column, for speed: a million queries with all measures are a hundred
million lines. Most values are from 0 to 1, and their 10,001 possible texts come from a table.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import cache
from typing import IO, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY
from rankframe.core.wording import UNSEEN, plain_text
from rankframe.stats.exact import exact_products
from rankframe.trec_eval.measures import CODES, DOCUMENTS_A_NUMBER, RETRIEVED, Line

ALL: Final = "all"
_DECIMALS = 4
_QUERIES_AT_ONCE = 20_000
_ONE = 10**_DECIMALS
# The lower bound of values in a geometric mean, as in trec_eval.
_LEAST = 1e-5


def write_queries(file: IO[bytes], lines: Sequence[Line], values: pl.DataFrame) -> None:
    """Write the lines of each query, with queries in the order of the rows of `values`."""
    shown = [line for line in lines if line.measure.per_query]
    if not shown:
        return
    ends = [f"\n{line.label:<22}" for line in shown[1:]]
    for chunk in values.iter_slices(_QUERIES_AT_ONCE):  # allowed: many queries at a time
        # polars' CSV writer puts a tab between columns; each value also has the line end and the
        # beginning of the next line in it.
        columns = [pl.repeat(f"{shown[0].label:<22}", chunk.height, eager=True)]
        queries = escape_ids(chunk[QUERY])
        for line, end in zip(shown, [*ends, ""], strict=True):
            columns += [queries, format_values(line, chunk, end)]
        named = {str(number): column for number, column in enumerate(columns)}
        write_tabbed(file, pl.DataFrame(named))


def summarise_lines(lines: Sequence[Line], values: pl.DataFrame, run_id: str) -> pl.DataFrame:
    """Return `measure` and `text` of the lines over all queries."""
    rows = []
    for line in lines:
        if line.measure.style == "runid":
            rows.append((line.label, plain_text(run_id)))
        elif line.measure.style == "num_q":
            rows.append((line.label, str(values.height)))
        elif line.measure.summary:
            mean = pl.Series(line.label, [_average(values[line.label], line.average)])
            rows.append((line.label, format_values(line, mean.to_frame())[0]))
    return pl.DataFrame(rows, schema={"measure": pl.String, "text": pl.String}, orient="row")


def _average(values: pl.Series, average: str) -> float:
    """Average as trec_eval does: add query by query, and round each partial sum.

    An exact sum would sometimes differ in the last digits.
    """
    column = values.fill_null(0.0).to_numpy()
    if average == "geometric":
        column = np.log(np.maximum(column, _LEAST))
    total = float(np.add.accumulate(column)[-1])
    if average == "sum":
        return total
    mean = total / len(column)
    return math.exp(mean) if average == "geometric" else mean


def write_summary(file: IO[bytes], summary: pl.DataFrame) -> None:
    """Write the lines over all queries."""
    for measure, text in summary.iter_rows():  # allowed: one row per line
        file.write(f"{measure:<22}\t{ALL}\t{text}\n".encode())


def escape_ids(ids: pl.Series) -> pl.Series:
    r"""Escape ids, so that none can end its field or line.

    >>> escape_ids(pl.Series(["q1", "q\t2\n"])).to_list()
    ['q1', 'q\\t2\\n']
    """
    return ids.str.replace_many(UNSEEN)


def write_tabbed(file: IO[bytes], table: pl.DataFrame) -> None:
    """Write the rows of a table, with tabs between columns.

    The text goes through a buffer in memory: polars would write directly to the open file, and so
    before text that Python still buffers.
    """
    text = io.BytesIO()
    table.write_csv(text, include_header=False, separator="\t", quote_style="never")
    file.write(text.getbuffer())


def format_values(line: Line, values: pl.DataFrame, end: str = "") -> pl.Series:
    """Return a line's printed value for each query, followed by `end`."""
    if line.measure.style == "relstring":
        return _relstrings(line, values) + end
    numbers = values[line.label]
    if line.measure.style == "count":
        return numbers.cast(pl.Int64).cast(pl.String) + end
    return format_decimals(numbers.fill_null(0.0).to_numpy(), end)


def format_decimals(numbers: NDArray[np.float64], end: str = "") -> pl.Series:
    """Write numbers with four decimals, rounded as C's printf rounds them.

    >>> format_decimals(np.array([1 / 3, 0.03125, -2.5])).to_list()
    ['0.3333', '0.0312', '-2.5000']
    """
    if len(numbers) and (numbers.min() < 0 or numbers.max() > 1 or np.signbit(numbers).any()):
        return _written(numbers) + end
    return _shares(end).gather(pl.Series(_ten_thousandths(numbers), dtype=pl.UInt32))


def _ten_thousandths(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each number in units of 10⁻⁴, rounded by its exact value, not by a rounded product."""
    product, lost = exact_products(numbers, np.full(len(numbers), float(_ONE)))
    nearest = np.rint(product)
    # If the rounded product is halfway between integers, the rounding error decides the direction.
    halfway = np.abs(product - nearest) == 0.5
    nearest = np.where(halfway & (lost > 0), np.ceil(product), nearest)
    return np.where(halfway & (lost < 0), np.floor(product), nearest)


@cache
def _shares(end: str) -> pl.Series:
    """Return the texts of 0, 0.0001, …, 1 with four decimals, each followed by `end`."""
    return _written(np.arange(_ONE + 1) / _ONE) + end


def _written(numbers: NDArray[np.float64]) -> pl.Series:
    """Format numbers with four decimals, with polars' CSV writer."""
    frame = pl.DataFrame({"number": numbers})
    text = frame.write_csv(include_header=False, float_precision=_DECIMALS)
    return _split(text)


def _relstrings(line: Line, values: pl.DataFrame) -> pl.Series:
    """Return the relstring of each query: a character per top document, in quotes."""
    characters = [
        (pl.col(metric.label).cast(pl.Int64) // 16**place % 16).replace_strict(
            range(len(CODES)), list(CODES)
        )
        for metric in line.metrics
        for place in range(DOCUMENTS_A_NUMBER)
    ]
    retrieved = pl.min_horizontal(RETRIEVED, pl.lit(line.depth)).cast(pl.Int64)
    quote = pl.lit("'")
    text = pl.concat_str(pl.lit(""), *characters).str.head(retrieved)
    return values.select(pl.concat_str(quote, text, quote)).to_series()


def _split(text: str) -> pl.Series:
    return pl.Series([text.removesuffix("\n")]).str.split("\n").explode()
