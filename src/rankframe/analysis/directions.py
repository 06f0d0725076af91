"""Which way a stored column is better: its name may be that of a metric; else somebody says it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, did_you_mean, listing
from rankframe.metrics.names import Metric

# Names of columns, or one of them.
Names = str | Collection[str]


def with_directions(
    metrics: Sequence[Metric], *, lower: Names = (), higher: Names = ()
) -> list[Metric]:
    """The metrics, with the direction that is said of columns which say nothing themselves."""
    less, more = names_of("lower_is_better", lower), names_of("higher_is_better", higher)
    labels = [metric.label for metric in metrics]
    for option, names in (("lower_is_better", less), ("higher_is_better", more)):
        for name in names:
            if name not in labels:
                near = did_you_mean(name, labels)
                raise OptionError(
                    Option(option, bare=True),
                    f" names {name!r}, which is not looked at. {near}{' ' if near else ''}"
                    f"There is {listing(labels)}.",
                )
    if both := [name for name in less if name in more]:
        raise OptionError(f"{both[0]!r} cannot be better both where it is lower and higher.")
    for metric in metrics:
        if says_nothing(metric):
            continue
        wrong, way = (less, "higher") if metric.higher_is_better else (more, "lower")
        if metric.label in wrong:
            raise OptionError(f"{metric.label!r} is a metric that is better where it is {way}.")
    return [
        replace(metric, lower_is_better=metric.label in less) if says_nothing(metric) else metric
        for metric in metrics
    ]


def refuse_unknown(metrics: Sequence[Metric], *, lower: Names = (), higher: Names = ()) -> None:
    """Refuse columns of which nobody says which way is better."""
    said = (*names_of("lower_is_better", lower), *names_of("higher_is_better", higher))
    for metric in metrics:
        if says_nothing(metric) and metric.label not in said:
            raise MetricParameterError(
                f"{metric.label!r} is a column of yours, and nothing says whether more of it is "
                "better or worse. Pass ",
                Option("lower_is_better", metric.label),
                " or ",
                Option("higher_is_better", metric.label),
                ", or say so in the file of rules.",
            )


def says_nothing(metric: Metric) -> bool:
    """Whether it is a stored column under a name of somebody's own."""
    return metric.definition is None and metric.expression is None and metric.gap is None


def names_of(option: str, given: object) -> tuple[str, ...]:
    """Names of columns, or one of them, as a tuple."""
    if isinstance(given, str):
        return (given,)
    names = tuple(given) if isinstance(given, Collection) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(Option(option, bare=True), f" takes names of columns, not {given!r}.")
    return names  # pyright: ignore[reportReturnType]
