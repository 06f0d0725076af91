"""Register charts: `@chart` registers a function, and how its arguments are computed from files.

The command line, `rf.plot`, the documentation and the tests read the registry.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import polars as pl

from rankframe.core.errors import OptionError, OutputError, RankframeError
from rankframe.core.messages import Option, shown
from rankframe.core.records import record
from rankframe.io.output_paths import file_place
from rankframe.io.outputs import write_file
from rankframe.present.charts.canvas import Canvas, Look
from rankframe.present.charts.chart_inputs import vocabulary_of
from rankframe.present.charts.chart_source import ChartSource
from rankframe.present.charts.marks import in_words

P = ParamSpec("P")
Drawn = TypeVar("Drawn")
# The kind of files that a chart takes: judgments and runs; two or more rankings, the first of which
# is the reference; stored results; runs alone, whose retrieved documents are counted; or no files.
Takes: TypeAlias = Literal["runs", "rankings", "results", "retrieved", "nothing"]
_NEEDED: Final[dict[Takes, str]] = {
    "runs": "judgments and runs: give QRELS and RUN",
    "rankings": "rankings: give a reference, and the rankings to compare with it",
    "results": "stored results: give their folders",
    "retrieved": "runs, without judgments: give RUN",
}
_NUMBERS: Final = {1: "one run", 2: "two runs"}
# Files of the demo data, by the number of runs that a chart takes.
_EXAMPLES: Final = {
    None: "qrels.parquet bm25.parquet dense.parquet hybrid.parquet",
    1: "qrels.parquet hybrid.parquet",
    2: "qrels.parquet bm25.parquet hybrid.parquet",
}
_ENDINGS: Final = (".png", ".svg", ".pdf", ".html")
_SCALE = 2  # the scale factor of a PNG, for high-resolution screens


@record
class Definition:
    """Describe a chart: its function, and how its arguments are computed from files.

    inputs: a function that returns the arguments for the chart's function, from a chart source.
    runs: the number of runs to draw; None: any number.
    takes: the kind of files that the chart is drawn of.
    listed: whether the chart can be drawn of a list of grades instead of files.
    several: whether the chart draws several metrics.
    demo: arguments of `rankframe plot` that draw the chart of the demo data; "" for the usual runs.
    """

    function: Callable[..., Any]
    inputs: Callable[[ChartSource], tuple[Any, ...]]
    runs: int | None = None
    takes: Takes = "runs"
    listed: bool = False
    several: bool = False
    demo: str | None = None

    @property
    def name(self) -> str:
        """Return the name of the chart."""
        return self.function.__name__

    @property
    def example(self) -> str:
        """Return arguments of `rankframe plot` that draw the chart of the demo data."""
        return _EXAMPLES[self.runs] if self.demo is None else self.demo

    @property
    def summary(self) -> str:
        """Return the docstring of the chart's function up to its example, as one paragraph."""
        return " ".join((inspect.getdoc(self.function) or "").split(">>>")[0].split())

    @property
    def sentence(self) -> str:
        """Return the first sentence of the summary."""
        return self.summary.split(". ")[0].rstrip(".:") + "."

    def draw(self, source: ChartSource) -> Any:
        """Draw the chart, or raise an error if the source lacks its inputs."""
        self._check(source)
        titled = source.look.get("title") is not None
        drawn = self.function(*self.inputs(source), **source.look)
        return in_words(drawn, source.vocabulary, titled=titled)

    def _check(self, source: ChartSource) -> None:
        drawn, count = f"the chart {self.name!r} is drawn of", len(source.runs)
        if source.grades is not None:
            if not self.listed:
                raise OptionError(Option("list"), f" is not for the chart {self.name!r}.")
            return
        of_judgments = source.qrels is not None and count > 0
        sufficient = {"results": bool(source.folders), "retrieved": count > 0, "nothing": True}
        if not sufficient.get(self.takes, of_judgments):
            also: list[Any] = [", or ", Option("list"), " with grades"] if self.listed else []
            raise OptionError(f"{drawn} {_NEEDED[self.takes]}", *also, ".")
        if self.takes == "runs" and self.runs and count != self.runs:
            raise OptionError(f"{drawn} {_NUMBERS[self.runs]}, not {count}.")


CHARTS: dict[str, Definition] = {}


def chart(
    inputs: Callable[[ChartSource], tuple[Any, ...]], **facts: Any
) -> Callable[[Callable[P, Drawn]], Callable[P, Drawn]]:
    """Register a function as a chart, with the fields of its `Definition`."""

    def register(drawing: Callable[P, Drawn]) -> Callable[P, Drawn]:
        signature = inspect.signature(drawing)
        first = next(iter(signature.parameters))

        @wraps(drawing)
        def checked(*args: P.args, **arguments: P.kwargs) -> Drawn:
            titled = arguments.get("title") is not None
            try:
                drawn = drawing(*args, **arguments)
                return in_words(drawn, vocabulary_of(*args, *arguments.values()), titled=titled)
            except RankframeError:
                raise
            except pl.exceptions.ColumnNotFoundError as error:
                problem = str(error).split("\n", maxsplit=1)[0]
                raise OptionError(f"{drawing.__name__} cannot draw {first}: {problem}.") from error
            except Exception as error:
                for value in args[:1] or [arguments[each] for each in arguments if each == first]:
                    _refuse(value, first, drawing, error)
                raise

        CHARTS[drawing.__name__] = Definition(checked, inputs, **facts)
        # `help` and notebooks list each option of the look by its name.
        *own, look = signature.parameters.values()
        looks = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=getattr(Canvas, name), annotation=kind
            )
            for name, kind in get_type_hints(Look).items()
        ]
        if look.kind is look.VAR_KEYWORD:
            checked.__signature__ = signature.replace(parameters=[*own, *looks])  # pyright: ignore[reportAttributeAccessIssue]
        return checked

    return register


def _refuse(value: object, name: str, function: Callable[..., Any], error: Exception) -> None:
    """Raise an error that says what a chart draws, if a value of another type made it fail."""
    hint = get_type_hints(function)[name]
    kinds = get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,)
    if any(_fits(value, kind) for kind in kinds):
        return
    names = " or ".join(dict.fromkeys(_called(kind) for kind in kinds))
    raise OptionError(
        f"{function.__name__} takes {name} as {names}, not {shown(value)}."
    ) from error


def _fits(value: object, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, UnionType) or origin is Union:
        return any(_fits(value, each) for each in inner)
    if origin is Sequence:  # also arrays and series
        return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(each, inner[1]) for each in value.values())
    return not isinstance(kind, type) or isinstance(value, kind)


def _called(kind: Any) -> str:
    """Return the name of a type, for messages."""
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, UnionType) or origin is Union:
        return " or ".join(map(_called, inner))
    if origin is Mapping:
        return f"a mapping of names to {_called(inner[1])}"
    return "a list" if origin is Sequence else getattr(kind, "__name__", str(kind))


def definition_of(name: str) -> Definition:
    """Return the definition of a chart by its name."""
    if name not in CHARTS:
        raise OptionError.choice("kind", name, list(CHARTS))
    return CHARTS[name]


def draw(name: str, source: ChartSource, target: Path) -> None:
    """Draw a chart into a file, atomically."""
    _ending(target)
    file_place(target)
    save(definition_of(name).draw(source), target)


def save(drawn: Any, target: Path) -> None:
    """Save a chart in the format of the file's ending."""
    ending = _ending(target)
    options = {"scale_factor": _SCALE} if ending == ".png" else {}
    write_file(target, lambda path: drawn.save(str(path), format=ending[1:], **options))


def _ending(target: Path) -> str:
    ending = target.suffix.lower()
    if ending not in _ENDINGS:
        raise OutputError(f"cannot draw into {target}: it should end in {', '.join(_ENDINGS)}.")
    return ending
