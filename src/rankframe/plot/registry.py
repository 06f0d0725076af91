"""The register of charts: `@chart` says how one is drawn of files. `rankframe plot` and the
documentation read it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from rankframe.base.errors import OptionError
from rankframe.plot.material import Material

P = ParamSpec("P")
Drawn = TypeVar("Drawn")
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

    @property
    def summary(self) -> str:
        """Its docstring up to the example, as one paragraph."""
        return " ".join((inspect.getdoc(self.function) or "").split(">>>")[0].split())

    def draw(self, material: Material) -> Any:
        """The chart of what was given, if that is what it takes."""
        drawn, count = f"the chart {self.name!r} is drawn of", len(material.runs)
        if self.runs != 0 and (material.qrels is None or not count):
            raise OptionError(f"{drawn} judgments and runs: give QRELS and RUN.")
        if self.runs and count != self.runs:
            raise OptionError(f"{drawn} {_COUNTED[self.runs]}, not {count}.")
        return self.function(*self.of(material))


CHARTS: dict[str, Definition] = {}


def chart(
    *, of: Callable[[Material], tuple[Any, ...]], runs: int | None = None
) -> Callable[[Callable[P, Drawn]], Callable[P, Drawn]]:
    """Register a function as a chart: its arguments, of judgments and (so many) runs."""

    def register(function: Callable[P, Drawn]) -> Callable[P, Drawn]:
        CHARTS[function.__name__] = Definition(function.__name__, function, of, runs)
        return function

    return register
