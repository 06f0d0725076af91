"""What messages are made of: options as Python or the shell writes them, inputs that may be one
of several runs, and lists of names.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_LONGEST = 200
# What the flags of the command line are called, where not as the option of the function is.
_FLAGS = {
    "columns": "column", "metrics": "metric", "only": "query", "storage_options": "storage-option",
}  # fmt: skip
# What must not be said aloud: the password in an address (all up to its last @, as one that was not
# escaped may hold any sign), and what stands for a secret after its name.
_PASSWORD = re.compile(r"(?<=://)([^\s/?#:@'\"]*):[^\s'\"]*@")
_SECRET = re.compile(
    r"\b((?:[\w-]*(?:password|signature|token|secret|credential)[\w-]*|sig|(?:account|access)_key)=)"
    r"[^&#\s'\"]+",
    re.IGNORECASE,
)

# Why ids of two inputs may never match: what each of them may look like.
_FLOAT = re.compile(r"\d+\.0")
_WHOLE = re.compile(r"\d+")
_PADDED = re.compile(r"0\d+")
# A part of a document: its id, a mark, and the number of the part.
_PART = re.compile(r".+(?:#|::|/|:|@|\||[-_.](?:chunk|part|passage|p|c)?[-_]?)\d+", re.IGNORECASE)
_MARK = re.compile(r"(?:#|::|/|:|@|\||[-_.](?:chunk|part|passage|p|c)?[-_]?)\d+$", re.IGNORECASE)
_UNKNOWN = "Is the key column right?"


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
            return " ".join(f"{flag} {pair}" for pair in _pairs(value))
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


def number_of(count: float, one: str) -> str:
    """So many of something, in the singular or plural; the last word is the noun.

    >>> number_of(1, "query"), number_of(1960, "judged query"), number_of(0, "row")
    ('1 query', '1,960 judged queries', '0 rows')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count:,.0f} {one[:-1]}ies" if one.endswith("y") else f"{count:,.0f} {one}s"


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


def _pairs(value: Mapping[str, object], within: str = "") -> Iterator[str]:
    """A mapping as a shell has it: `run.doc_id=_id` for one within another."""
    for key, of in value.items():
        if isinstance(of, Mapping):
            yield from _pairs(of, f"{within}{key}.")
        else:
            yield shlex.quote(f"{within}{key}={of}")


def _literal(value: object) -> str:
    """A value as people type it: text in double quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{key}": {_literal(of)}' for key, of in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def masked(text: str) -> str:
    """Text without the passwords and signatures of the addresses in it.

    >>> masked("postgresql://ann:s3cret@db/shop#runs"), masked("https://x.org/a?sig=abc&page=2")
    ('postgresql://ann:***@db/shop#runs', 'https://x.org/a?sig=***&page=2')
    """
    return _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


def listing(names: Sequence[str], most: int = 12) -> str:
    """Names, quoted, and how many more there are."""
    shown = ", ".join(repr(shorten(name)) for name in names[:most])
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
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


def why_unlike(run_ids: Sequence[str], qrels_ids: Sequence[str]) -> str:
    """A sentence on how the ids of the two differ; or a question where nothing is known.

    >>> why_unlike(["doc17#3"], ["doc17"])
    "Are those of the run parts of documents ('doc17#3' of 'doc17')? Pass unit= (--unit)."
    >>> why_unlike(["1.0", "2.0"], ["7"])
    'Those of the run went through floats: write them as whole numbers or text.'
    >>> why_unlike(["x"], ["y"])
    'Is the key column right?'
    """
    sides = (("run", run_ids, qrels_ids), ("qrels", qrels_ids, run_ids))
    for side, ids, others in sides:
        if _all(_FLOAT, ids) and _all(_WHOLE, others):
            return f"Those of the {side} went through floats: write them as whole numbers or text."
        if _all(_PADDED, ids) and _all(_WHOLE, others) and not any(map(_PADDED.fullmatch, others)):
            return f"Only those of the {side} begin with zeros: did the others lose theirs?"
        if any(one != one.strip() for one in ids) and not any(one != one.strip() for one in others):
            return f"Those of the {side} have blanks around them."
    if {one.casefold() for one in run_ids} & {one.casefold() for one in qrels_ids}:
        return "Some differ only in upper and lower case."
    if _all(_PART, run_ids) and not any(map(_PART.fullmatch, qrels_ids)):
        part = run_ids[0]
        return (
            f"Are those of the run parts of documents ({part!r} of {_MARK.sub('', part)!r})? "
            "Pass unit= (--unit)."
        )
    return _UNKNOWN


def _all(pattern: re.Pattern[str], ids: Sequence[str]) -> bool:
    return bool(ids) and all(map(pattern.fullmatch, ids))
