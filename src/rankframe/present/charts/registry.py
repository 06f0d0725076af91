"""The register of charts: `@chart` says how one is drawn of files. `rankframe plot` and the
documentation read it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, get_type_hints

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.present.charts.canvas import Look
from rankframe.present.charts.chart_source import Material

P = ParamSpec("P")
Drawn = TypeVar("Drawn")
# What its files are: judgments and runs; two rankings or more, the first of which is the reference;
# stored results; runs alone, of which it is looked at what they show; or it takes none.
Takes: TypeAlias = Literal["runs", "rankings", "results", "shown", "nothing"]
_COUNTED = {1: "one run", 2: "two runs"}


@dataclass(frozen=True)
class Definition:
    """A chart by name."""

    name: str
    function: Callable[..., Any]
    # its arguments
    of: Callable[[Material], tuple[Any, ...]]
    # how many it takes; None is any number
    runs: int | None
    takes: Takes
    # a list of grades will do instead of files
    listed: bool
    # it draws several metrics
    several: bool

    @property
    def summary(self) -> str:
        """Its docstring up to the example, as one paragraph."""
        return " ".join((inspect.getdoc(self.function) or "").split(">>>")[0].split())

    def draw(self, material: Material) -> Any:
        """The chart of what was given, if that is what it takes."""
        self._check(material)
        return self.function(*self.of(material), **material.look)

    def _check(self, material: Material) -> None:
        drawn, count = f"the chart {self.name!r} is drawn of", len(material.runs)
        if material.grades is not None:
            if not self.listed:
                raise OptionError(Option("list"), f" is not for the chart {self.name!r}.")
            return
        if self.takes == "results" and not material.folders:
            raise OptionError(f"{drawn} stored results: give their folders.")
        if self.takes == "shown" and not count:
            raise OptionError(f"{drawn} runs, without judgments: give RUN.")
        if self.takes == "rankings" and (material.qrels is None or not count):
            raise OptionError(f"{drawn} rankings: give a reference, and what is compared with it.")
        if self.takes == "runs" and (material.qrels is None or not count):
            also: list[Any] = [", or ", Option("list"), " with grades"] if self.listed else []
            raise OptionError(f"{drawn} judgments and runs: give QRELS and RUN", *also, ".")
        if self.takes == "runs" and self.runs and count != self.runs:
            raise OptionError(f"{drawn} {_COUNTED[self.runs]}, not {count}.")


CHARTS: dict[str, Definition] = {}


def chart(
    *,
    of: Callable[[Material], tuple[Any, ...]],
    runs: int | None = None,
    takes: Takes = "runs",
    listed: bool = False,
    several: bool = False,
) -> Callable[[Callable[P, Drawn]], Callable[P, Drawn]]:
    """Register a function as a chart: its arguments, of judgments and (so many) runs, or of what it
    takes instead.
    """
    if runs == 0:
        takes = "nothing"

    def register(function: Callable[P, Drawn]) -> Callable[P, Drawn]:
        name = function.__name__
        CHARTS[name] = Definition(name, function, of, runs, takes, listed, several)
        # What `help` and notebooks show: each option of the look by its name.
        function.__signature__ = _spelt_out(function)  # pyright: ignore[reportFunctionMemberAccess]
        return function

    return register


def _spelt_out(function: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(function)
    own = list(signature.parameters.values())
    if not own or own[-1].kind is not inspect.Parameter.VAR_KEYWORD:
        return signature
    defaults = {"theme": "light"}
    looks = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=kind
        )
        for name, kind in get_type_hints(Look).items()
    ]
    return signature.replace(parameters=[*own[:-1], *looks])
