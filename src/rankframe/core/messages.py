"""Make the parts of messages: options as Python or the shell writes them, names of inputs and runs,
and lists of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from rankframe.core.records import record

_LONGEST = 200
# Flags of the command line that differ from the name of the option.
_FLAGS = {
    "columns": "column", "metrics": "metric", "only": "query", "storage_options": "storage-option",
}  # fmt: skip
# An address, up to a blank, a quote, or what ends a sentence.
_ADDRESS = re.compile(
    r"(?P<scheme>\b[a-zA-Z][\w+.-]*)://(?P<rest>[^\s?'\"][^\s'\"]*?)(?=[.,;:!)]*(?:[\s'\"]|$))"
)
# Parameters whose names show that their values are secret, as in addresses of databases.
_SECRET = re.compile(
    r"\b((?:[\w-]*(?:password|signature|token|secret|credential)[\w-]*|sig|(?:account|access)_key)=)"
    r"[^&#\s'\"]+",
    re.IGNORECASE,
)

# Quoted text up to its last @.
_USER = re.compile(r"(?<=['\"])[^'\"\s]*@")

# Forms of ids that never match ids of another form.
_FLOAT = re.compile(r"\d+\.0")
_WHOLE = re.compile(r"\d+")
_PADDED = re.compile(r"0\d+")
# A part of a document: its id, a mark, and the number of the part.
_PART = re.compile(r".+(?:#|::|/|:|@|\||[-_.](?:chunk|part|passage|p|c)?[-_]?)\d+", re.IGNORECASE)
_MARK = re.compile(r"(?:#|::|/|:|@|\||[-_.](?:chunk|part|passage|p|c)?[-_]?)\d+$", re.IGNORECASE)
_UNKNOWN = "Is the key column right?"


@record
class Option:
    """Refer to an option in a message, with or without a value to pass.

    >>> Option("duplicates", "keep_best").text(), Option("k_max").text(flags=True)
    ('duplicates="keep_best"', '--k-max')
    """

    name: str
    value: object = None
    # only its name, without the = of a call
    bare: bool = False

    def text(self, *, flags: bool = False) -> str:
        """Return the option as in a call, or as on a command line."""
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


@record
class Role:
    """Refer to an input in a message; errors add the name of the run if there are several runs."""

    name: str

    def text(self, run: str) -> str:
        """Return the name of the input; if it is a run, followed by the name `run`."""
        return f"{self.name} {run}".rstrip() if self.name == "run" else self.name


# A part of a message.
Part: TypeAlias = str | Option | Role


def number_of(count: float, noun: str) -> str:
    """Write a count and a noun, in the singular or plural.

    >>> number_of(1, "query"), number_of(1960, "judged query"), number_of(0, "row")
    ('1 query', '1,960 judged queries', '0 rows')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,.0f} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,.0f} {noun}s"


def nearest(name: object, names: Iterable[str], limit: int = 1) -> list[str]:
    """Return the known names that are most similar to a name, ignoring case."""
    # The time it takes grows with the square of its length.
    if not isinstance(name, str) or len(name) > _LONGEST:
        return []
    from difflib import get_close_matches  # noqa: PLC0415 (only to complain)

    by_lower = {k.lower(): k for k in names}
    near = get_close_matches(name.lower(), by_lower, n=limit, cutoff=0.7)
    return [by_lower[lower] for lower in near]


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return a hint with the most similar known name, or nothing."""
    near = nearest(name, names)
    return f"Did you mean {near[0]!r}?" if near else ""


def sentences(*texts: Sequence[Part]) -> list[Part]:
    """Join sentences, each ended by a full stop, and leave out empty ones."""
    parts: list[Part] = []
    for sentence in texts:
        if not sentence or sentence == ("",):
            continue
        last = sentence[-1]
        stop = "" if isinstance(last, str) and last.endswith((".", "?", "!")) else "."
        parts += [*([" "] if parts else []), *sentence, stop]
    return parts


def _pairs(value: Mapping[str, object], within: str = "") -> Iterator[str]:
    """Yield the pairs of a mapping as a shell takes them: `run.doc_id=_id` for a nested one."""
    from shlex import quote  # noqa: PLC0415 (only to complain)

    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _pairs(item, f"{within}{key}.")
        else:
            yield quote(f"{within}{key}={'' if item is None else item}")


def _literal(value: object) -> str:
    """Write a value as Python code, with text in double quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{key}": {_literal(item)}' for key, item in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def masked(text: str) -> str:
    """Remove user names, passwords and query strings from the addresses in a text.

    >>> masked("postgresql://ann:s3cret@db/shop#runs"), masked("https://x.org/a?sig=abc&page=2")
    ('postgresql://db/shop#runs', 'https://x.org/a')
    """
    return _SECRET.sub(r"\1***", _ADDRESS.sub(_without_secrets, text))


def without_user(reason: str) -> str:
    """Remove user names and passwords from a driver's message that quotes an address.

    >>> without_user("could not translate host name 'word@127.0.0.1'")
    "could not translate host name '127.0.0.1'"
    """
    return _USER.sub("", masked(reason))


def _without_secrets(address: re.Match[str]) -> str:
    """Return an address without user and query string.

    A password may hold any unescaped character, so all before the last @ is dropped if it may be
    one. In addresses of object stores, a ? without a = is a wildcard.
    """
    scheme, rest = address["scheme"], address["rest"]
    host, _, port = rest.partition("/")[0].partition(":")
    if "@" in host:  # no password
        rest = rest.partition("@")[2]
    elif not port.isdigit() and port:
        rest = rest.rpartition("@")[2]
    place, mark, query = rest.partition("?")
    query, hash_, selection = query.partition("#")
    if mark and not scheme.startswith("http") and "=" not in query:
        place += mark + query
    return f"{scheme}://{place}{hash_}{selection}"


def listing(names: Sequence[str], limit: int = 12) -> str:
    """List names in quotes, and the number of further names."""
    quoted = ", ".join(repr(shorten(name)) for name in names[:limit])
    more = f", and {len(names) - limit:,} more" if len(names) > limit else ""
    return (quoted + more) or "nothing"


def shown(value: object, limit: int = 80) -> str:
    """Write a value as Python does, on one line, shortened if it is long."""
    try:
        return shorten(re.sub(r"[\n\t]+", " ", repr(value)), limit)
    except Exception:  # noqa: BLE001 (any failure of a user's repr)
        # Python does not write whole numbers of thousands of digits
        number = isinstance(value, int)
        return "a number of thousands of digits" if number else f"a {type(value).__name__}"


def shorten(text: str, limit: int = 80) -> str:
    """Shorten a text that is too long for a message."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def is_text(name: str) -> bool:
    """Tell whether a name is valid Unicode: names of files may hold other bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def why_unlike(run_ids: Sequence[str], qrels_ids: Sequence[str]) -> str:
    """Return a sentence on how the ids of two inputs differ, or a question if that is unknown.

    >>> why_unlike(["doc17#3"], ["doc17"])
    "Are the ids of the run chunks of documents ('doc17#3' of 'doc17')? Pass unit= (--unit)."
    >>> why_unlike(["1.0", "2.0"], ["7"])
    'The ids of the run were floats: write them as whole numbers or text.'
    >>> why_unlike(["x"], ["y"])
    'Is the key column right?'
    """
    sides = (("run", run_ids, qrels_ids), ("qrels", qrels_ids, run_ids))
    for side, ids, rest in sides:
        if _all(_FLOAT, ids) and _all(_WHOLE, rest):
            return f"The ids of the {side} were floats: write them as whole numbers or text."
        if _all(_PADDED, ids) and _all(_WHOLE, rest) and not any(map(_PADDED.fullmatch, rest)):
            return f"Only the ids of the {side} begin with zeros: did the others lose theirs?"
        if any(id_ != id_.strip() for id_ in ids) and not any(id_ != id_.strip() for id_ in rest):
            return f"The ids of the {side} have blanks around them."
    if {id_.casefold() for id_ in run_ids} & {id_.casefold() for id_ in qrels_ids}:
        return "Some differ only in upper and lower case."
    if _all(_PART, run_ids) and not any(map(_PART.fullmatch, qrels_ids)):
        part = run_ids[0]
        return (
            f"Are the ids of the run chunks of documents ({part!r} of {_MARK.sub('', part)!r})? "
            "Pass unit= (--unit)."
        )
    return _UNKNOWN


def _all(pattern: re.Pattern[str], ids: Sequence[str]) -> bool:
    return bool(ids) and all(map(pattern.fullmatch, ids))
