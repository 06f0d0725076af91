"""Docstrings as they are written here, told to mkdocstrings: parameters stand as `name: what it is`
at the left margin, and examples as `>>>`, without headings.

What a function does not say of a parameter is what the one says that it refers to ("as in
`evaluate`"). Choices are shown instead of the names of their types.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import griffe

# What a function does not say of a parameter, these do, in this order.
AS_IN = {
    "agree": ("engine.evaluate.evaluate",),
    "compare": ("engine.evaluate.evaluate",),
    "curve": ("engine.evaluate.evaluate",),
    "diff": ("engine.evaluate.evaluate",),
    "exposure": ("engine.evaluate.evaluate",),
    "evaluate": ("engine.evaluate.evaluate",),
    "fuse": ("analysis.fusion.fuse.fuse", "engine.evaluate.evaluate"),
    "gate": ("analysis.compare.compare", "engine.evaluate.evaluate"),
    "judge": ("engine.evaluate.evaluate",),
    "retrieved": ("engine.evaluate.evaluate",),
    "pair": ("engine.agree.agree", "engine.evaluate.evaluate"),
    "stack": ("analysis.fusion.fuse.fuse", "engine.evaluate.evaluate"),
    "tune": ("analysis.fusion.fuse.fuse", "analysis.compare.compare", "engine.evaluate.evaluate"),
    "report": ("analysis.compare.compare", "engine.evaluate.evaluate"),
}
# Of these, the text above the parameters speaks.
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
    "StorageOptions": "dict",
    "ArrayLike": "array",
}
_ENTRY = re.compile(r"([a-z_][a-z_0-9]*(?:, [a-z_][a-z_0-9]*)*):(?: |$)(.*)")
_INDENT = "    "


@dataclass
class Parsed:
    """A docstring in parts."""

    text: list[str] = field(default_factory=list)
    # what is said of each name, in lines
    said: dict[str, list[str]] = field(default_factory=dict)
    # what is said below the parameters
    after: list[str] = field(default_factory=list)


def parsed(docstring: str, names: Collection[str]) -> Parsed:
    """A docstring in parts; entries are those of these names."""
    found = Parsed()
    entry: list[str] | None = None
    for line in _fenced(docstring.splitlines()):
        match = _ENTRY.fullmatch(line)
        if match and set(match[1].split(", ")) & set(names):
            entry = [match[2]]
            found.said.update(dict.fromkeys(match[1].split(", "), entry))
        elif entry is not None and line.startswith(_INDENT):
            entry.append(line.removeprefix(_INDENT))
        else:
            entry = None
            (found.after if found.said else found.text).append(line)
    return found


def _fenced(lines: list[str]) -> Iterator[str]:
    """The same lines, with fences around examples."""
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


class HouseStyle(griffe.Extension):
    """Rewrites the docstrings of a package for griffe's parser."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Once all of it is known."""
        for function in list(_functions(pkg)):
            _show_choices(function, pkg)
        # What is said is looked up before any of it is rewritten.
        said = {id(one): _all_said(one, pkg) for one in _functions(pkg)}
        for one in _functions(pkg):
            _rewrite(one, said[id(one)], "Args")
        for one in list(_classes(pkg)):
            if one.docstring is not None:
                _rewrite(one, parsed(one.docstring.value, one.members).said, "Attributes")


def _functions(of: griffe.Module | griffe.Class) -> Iterator[griffe.Function]:
    for one in list(of.members.values()):
        if isinstance(one, griffe.Function):
            yield one
        elif isinstance(one, griffe.Module | griffe.Class):
            yield from _functions(one)


def _classes(of: griffe.Module) -> Iterator[griffe.Class]:
    for one in of.members.values():
        if isinstance(one, griffe.Class):
            yield one
        elif isinstance(one, griffe.Module):
            yield from _classes(one)


def _own(function: griffe.Function) -> dict[str, list[str]]:
    """What its docstring says itself: what is "as in" another is said there."""
    names = [one.name for one in function.parameters]
    said = parsed(function.docstring.value, names).said if function.docstring else {}
    return {name: text for name, text in said.items() if not " ".join(text).startswith("as in ")}


def _all_said(function: griffe.Function, pkg: griffe.Module) -> dict[str, list[str]]:
    """What is said of every parameter, here or where this refers to."""
    known = [_own(function)]
    if isinstance(function.parent, griffe.Module):
        places = list(AS_IN.get(function.name, ()))
        if function.parent.path.endswith("spark.entry"):
            places = ["engine.evaluate.evaluate"]
            if function.name == "agree":
                places.insert(0, "engine.agree.agree")
        known += [_own(pkg[place]) for place in places if pkg[place] is not function]
    names = [one.name for one in function.parameters]
    text = function.docstring.value if function.docstring else ""
    known.append({name: [said] for name, said in COMMON.items()})
    known.append({name: ["see above."] for name in names if f"`{name}`" in text})
    return {
        name: next(entries[name] for entries in known if name in entries)
        for name in names
        if any(name in entries for entries in known)
    }


def _rewrite(of: griffe.Function | griffe.Class, said: dict[str, list[str]], title: str) -> None:
    if of.docstring is None:
        return
    names = list(of.members) if isinstance(of, griffe.Class) else [p.name for p in of.parameters]
    parts = parsed(of.docstring.value, names)
    lines = parts.text
    if said:
        lines = [*lines, "", f"{title}:", *_section(said), ""]
    of.docstring.value = "\n".join([*lines, *parts.after])


def _section(said: dict[str, list[str]]) -> Iterator[str]:
    for name, (first, *rest) in said.items():
        # What is listed by name in quotes is a list.
        choices = [f"- {line}" if line.startswith('"') else line for line in rest]
        listed = choices != rest and not first
        yield f"{_INDENT}{name}: {first or 'one of'}"
        if listed:
            yield ""
        for line in choices if listed else rest:
            yield f"{_INDENT * 2}{line}"


def _show_choices(function: griffe.Function, pkg: griffe.Module) -> None:
    """Write the choices of an option where its type is named."""
    options = pkg["core.options"]

    def choices(name: re.Match[str]) -> str:
        value = str(options[name[1]].value) if name[1] in options.members else name[0]
        listed = re.fullmatch(r"Literal\[(.*?),?\s*\]", value, re.DOTALL)
        return " | ".join(part.strip() for part in listed[1].split(",")) if listed else name[0]

    for parameter in function.parameters:
        if parameter.annotation is None:
            continue
        told = re.sub(r"\boptions\.(\w+)", choices, str(parameter.annotation))
        told = re.sub(r"\b[A-Z]\w+\b", lambda name: SHOWN.get(name[0], name[0]), told)
        if told != str(parameter.annotation):
            parameter.annotation = told
