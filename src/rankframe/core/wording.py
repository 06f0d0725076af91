"""Numbers and names as people read them, the same in tables, pages and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from rankframe.core.errors import RankframeError
from rankframe.core.options import Average

UNDEFINED = "undefined"
# What Markdown takes for more than a letter; an underscore only at the edge of a word, a tilde only
# at the edge of something.
_MARKDOWN = re.compile(r"([\\`*\[\]|$]|(?<![^\W_])_|_(?![^\W_])|~(?=\S)|(?<=\S)~)")
_ENTITY = re.compile(r"&(?=#?\w+;)")
# What a spreadsheet takes for a formula, and numbers, which it may.
_FORMULA, _NUMBER = re.compile(r"\s*[=+\-@]"), re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")
# Characters that are not shown but do something: commands of terminals, ends of lines, changes of
# direction, what XML and drawing programs choke on. They are shown as Python writes them.
UNSEEN: Final[dict[str, str]] = {
    chr(code): repr(chr(code))[1:-1]
    for code in (
        *range(32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F),
        *range(0x2066, 0x206A), *range(0xFDD0, 0xFDF0),
        *(plane << 16 | last for plane in range(17) for last in (0xFFFE, 0xFFFF)),
    )
}  # fmt: skip
# Half characters, which only Python's text has (in names of files, for bytes that are no text).
_PLAIN = str.maketrans(UNSEEN | {chr(code): f"\\u{code:x}" for code in range(0xD800, 0xE000)})


class Shown(Protocol):
    """What a number is of: a metric."""

    @property
    def average(self) -> Average:
        """How it is averaged."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        ...


def plain_text(text: str, most: int | None = None) -> str:
    r"""Text that does nothing but show: what is unseen in it as Python writes it, cut where it is
    longer than `most` characters.

    >>> print(plain_text("a\x1b[31m\tb"), plain_text("x" * 20, 5))
    a\x1b[31m\tb xxxx…
    """
    if most is not None:
        text = text[: most + 1]  # however long it is
    shown = text.translate(_PLAIN)
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


def distinct_texts(texts: Iterable[str], most: int) -> dict[str, str]:
    """Each text as `plain_text` shows it; those that would then look alike are numbered.

    >>> list(distinct_texts(["xxx1", "xxx2", "xx…"], 3).values())
    ['xx… (2)', 'xx… (3)', 'xx…']
    """
    shown = {text: plain_text(text, most) for text in texts}
    taken = dict.fromkeys((text for text, label in shown.items() if text == label), 1)
    for text, label in shown.items():
        if text == label:
            continue
        one = label
        while one in taken:
            taken[label] += 1
            one = f"{label} ({taken[label]})"
        taken[one] = 1
        shown[text] = one
    return shown


def cell_text(text: str) -> str:
    """Text for a cell of a table that people open in a spreadsheet: never a formula.

    >>> cell_text("=1+1"), cell_text("-0.5"), cell_text("a-b")
    ("'=1+1", '-0.5', 'a-b')
    """
    shown = plain_text(text)
    return f"'{shown}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else shown


def number_text(value: float | None, metric: Shown | None = None) -> str:
    """A value: four digits, or a whole number for what is summed up.

    >>> number_text(0.12345), number_text(None)
    ('0.1235', 'undefined')
    """
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if metric is not None and metric.average == "sum" else f"{value:.4f}"


def signed_text(value: float | None, metric: Shown | None = None) -> str:
    """A difference, with its sign; nothing has none.

    >>> signed_text(-0.00001), signed_text(0.5)
    ('+0.0000', '+0.5000')
    """
    if value is None:
        return UNDEFINED
    whole = metric is not None and metric.average == "sum"
    rounded = round(value, 0 if whole else 4) + 0.0  # no minus in front of nothing
    return f"{rounded:+,.0f}" if whole else f"{rounded:+.4f}"


def range_text(
    low: float | None, high: float | None, metric: Shown | None = None, *, signed: bool = False
) -> str:
    """An interval; nothing where there is none.

    >>> range_text(0.1, 0.25), range_text(-0.1, 0.25, signed=True)
    ('0.1000 to 0.2500', '-0.1000 to +0.2500')
    """
    text = signed_text if signed else number_text
    return "" if low is None else f"{text(low, metric)} to {text(high, metric)}"


def percent_text(value: float | None, digits: int = 1) -> str:
    """A relative difference, with its sign.

    >>> percent_text(0.1234), percent_text(None)
    ('+12.3%', '')
    """
    return "" if value is None else f"{round(value, digits + 2) + 0.0:+.{digits}%}"


def share_text(value: float | None) -> str:
    """A share of something."""
    return "" if value is None else f"{value:.0%}"


def count_text(value: float | None) -> str:
    """An entry of a ledger: a count, or a share."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:.1%}"


def p_text(p_value: float | None) -> str:
    """A p value.

    >>> p_text(0.00001), p_text(0.0312)
    ('<0.0001', '0.0312')
    """
    if p_value is None:
        return "–"
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def best_of(metric: Shown, values: Sequence[float | None]) -> float | None:
    """The best of some values; None where none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if metric.higher_is_better else min(known)


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> print(markdown_text("a|b *new* bm25_v1"))
    a\|b \*new\* bm25_v1
    """
    said = _ENTITY.sub("&amp;", plain_text(" ".join(text.split()))).replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\1", said)


@contextmanager
def naming_the_run(name: str) -> Iterator[None]:
    """Errors that speak of the run say which one: "run b has 14 duplicate …"."""
    try:
        yield
    except RankframeError as error:
        error.run = name
        raise


def outcomes_text(row: Mapping[str, Any]) -> str:
    """In how many queries something is better, the same, and worse; nothing where nobody says.

    >>> outcomes_text({"wins": 3, "ties": 1_000, "losses": 0})
    '3/1,000/0'
    """
    counts = [row[name] for name in ("wins", "ties", "losses")]
    return "" if None in counts else "/".join(f"{count:,}" for count in counts)
