"""Prepare docstrings for mkdocstrings.

Functions that take declared options get their parameters and sections from the declarations, as
`help()` shows them. Docstrings that list entries at the left margin (`name: what it is`) get a
heading, and examples get fences.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from types import NoneType
from typing import Any, get_args

import griffe

from rankframe.core.options import choices

# What parameters are where a function leaves it to the text above.
COMMON = {
    "ranked_results": "the lists, the best first.",
    "qrels": "the judgments.",
    "run": "the ranking.",
    "runs": "the runs, by name or as a list.",
    "a": "the first ranking.",
    "b": "the second one.",
}
# Aliases that say nothing to a reader, and what stands for them.
SHOWN = {
    "Source": "data or path",
    "Columns": "dict",
    "Metrics": "name, expression, or several",
    "MetricLike": "name or expression",
    "By": "str | tuple",
    "Report": "Callable",
    "StorageSettings": "dict",
    "ArrayLike": "array",
}
_ENTRY = re.compile(r"([a-z_][a-z_0-9]*(?:, [a-z_][a-z_0-9]*)*):(?: |$)(.*)")
_INDENT = "    "


class HouseStyle(griffe.Extension):
    """Rewrite the docstrings of a package into the Google style that griffe parses."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite all signatures and docstrings of the package, once griffe has loaded it."""
        for function in _functions(pkg):
            if any("Unpack[" in str(parameter.annotation) for parameter in function.parameters):
                _take_declared_options(function)
            for parameter in function.parameters:
                if parameter.annotation is not None:
                    parameter.annotation = re.sub(
                        r"\b[A-Z]\w+\b",
                        lambda name: SHOWN.get(name[0], name[0]),
                        str(parameter.annotation),
                    )
            if function.docstring is not None:
                names = [parameter.name for parameter in function.parameters]
                function.docstring.value = _rewritten(function.docstring.value, names, "Args")
        for cls in list(_classes(pkg)):
            if cls.docstring is not None:
                cls.docstring.value = _rewritten(cls.docstring.value, cls.members, "Attributes")


def _functions(parent: griffe.Module | griffe.Class) -> Iterator[griffe.Function]:
    for member in list(parent.members.values()):
        if isinstance(member, griffe.Function):
            yield member
        elif isinstance(member, griffe.Module | griffe.Class):
            yield from _functions(member)


def _classes(parent: griffe.Module) -> Iterator[griffe.Class]:
    for member in parent.members.values():
        if isinstance(member, griffe.Class):
            yield member
        elif isinstance(member, griffe.Module):
            yield from _classes(member)


def _take_declared_options(function: griffe.Function) -> None:
    """Replace a function's signature and docstring in griffe by those that it has when imported."""
    module = import_module(function.module.path)
    declared: Callable[..., Any] = getattr(module, function.name)
    own = {parameter.name: parameter for parameter in function.parameters}
    function.parameters = griffe.Parameters(
        *(
            own.get(parameter.name) or _parameter(parameter)
            for parameter in inspect.signature(declared).parameters.values()
        )
    )
    assert function.docstring is not None
    # A heading with a title is a section of parameters to griffe, one without is an admonition.
    function.docstring.value = re.sub(
        r"(?m)^(Policies|Intervals|Comparison|Storage):$",
        r"Args: \1",
        inspect.getdoc(declared) or "",
    )


def _parameter(parameter: inspect.Parameter) -> griffe.Parameter:
    kind = parameter.annotation
    listed = [f'"{choice}"' for choice in choices(kind)]
    if listed and NoneType in get_args(kind):
        listed.append("None")
    default = parameter.default
    return griffe.Parameter(
        parameter.name,
        annotation=" | ".join(listed)
        or inspect.formatannotation(kind).removeprefix("collections.abc."),
        kind=griffe.ParameterKind.keyword_only,
        default=f'"{default}"' if isinstance(default, str) else repr(default),
    )


@dataclass
class _Parts:
    """Hold the parts of a docstring: its text, its entries by name, and the text below them."""

    text: list[str] = field(default_factory=list)
    entries: dict[str, list[str]] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)


def _rewritten(docstring: str, names: Collection[str], title: str) -> str:
    """Return a docstring with fences around examples, and with a heading above its entries."""
    parts = _parsed(docstring, names)
    lines = parts.text
    headed = any(line.startswith(("Args:", "Attributes:")) for line in lines)
    if title == "Args" and not headed:
        for name in names:
            if name not in parts.entries and (name in COMMON or f"`{name}`" in docstring):
                parts.entries[name] = [COMMON.get(name, "see above.")]
    if parts.entries:
        ordered = {name: parts.entries[name] for name in names if name in parts.entries}
        lines = [*lines, "", f"{title}:", *_section(ordered), ""]
    return "\n".join([*lines, *parts.after])


def _parsed(docstring: str, names: Collection[str]) -> _Parts:
    """Split a docstring into text, the entries whose names are in `names`, and later text."""
    parts = _Parts()
    entry: list[str] | None = None
    for line in _fenced(docstring.splitlines()):
        match = _ENTRY.fullmatch(line)
        if match and set(match[1].split(", ")) & set(names):
            entry = [match[2]]
            parts.entries.update(dict.fromkeys(match[1].split(", "), entry))
        elif entry is not None and line.startswith(_INDENT):
            entry.append(line.removeprefix(_INDENT))
        else:
            entry = None
            (parts.after if parts.entries else parts.text).append(line)
    return parts


def _fenced(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring, with a Markdown fence around each example."""
    inside = False
    for line in lines:
        if line.startswith(">>>") and not inside:
            inside = True
            yield "```pycon"
        elif inside and not line.strip():
            inside = False
            yield "```"
        yield line
    if inside:
        yield "```"


def _section(entries: dict[str, list[str]]) -> Iterator[str]:
    for name, (first, *rest) in entries.items():
        # What is listed by name in quotes is a list.
        items = [f"- {line}" if line.startswith('"') else line for line in rest]
        listed = items != rest and not first
        yield f"{_INDENT}{name}: {first or 'one of'}"
        if listed:
            yield ""
        for line in items if listed else rest:
            yield f"{_INDENT * 2}{line}"
