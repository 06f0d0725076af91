"""The direction in which stored columns are better: by the metric of their name, or an option."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, did_you_mean, listing
from rankframe.metrics.names import Metric

# Names of columns, or a single one.
Names = str | Collection[str]


def with_directions(
    metrics: Sequence[Metric], *, lower: Names = (), higher: Names = ()
) -> list[Metric]:
    """Give columns that are no known metric the direction that the options name."""
    directions = {
        option: names_of(option, names)
        for option, names in (("lower_is_better", lower), ("higher_is_better", higher))
    }
    labels = [metric.label for metric in metrics]
    for option, names in directions.items():
        for name in names:
            if name not in labels:
                near = did_you_mean(name, labels)
                raise OptionError(
                    Option(option, bare=True),
                    f" names {name!r}, which is not looked at. {near}{' ' if near else ''}"
                    f"There is {listing(labels)}.",
                )
    less, more = directions.values()
    if twice := [name for name in less if name in more]:
        raise OptionError(f"{twice[0]!r} cannot be better both where it is lower and higher.")
    for metric in metrics:
        wrong, way = (less, "higher") if metric.higher_is_better else (more, "lower")
        if metric.label in wrong and not is_own_column(metric):
            raise OptionError(f"{metric.label!r} is a metric that is better where it is {way}.")
    return [
        replace(metric, lower_is_better=metric.label in less) if is_own_column(metric) else metric
        for metric in metrics
    ]


def refuse_unknown(metrics: Sequence[Metric], *, lower: Names = (), higher: Names = ()) -> None:
    """Refuse columns without a known direction."""
    named = (*names_of("lower_is_better", lower), *names_of("higher_is_better", higher))
    for metric in metrics:
        if is_own_column(metric) and metric.label not in named:
            raise MetricParameterError(
                f"{metric.label!r} is a column of yours, and nothing says whether more of it is "
                "better or worse. Pass ",
                Option("lower_is_better", metric.label),
                " or ",
                Option("higher_is_better", metric.label),
                ", or say so in the file of rules.",
            )


def is_own_column(metric: Metric) -> bool:
    """Tell whether a metric is a stored column under a name of the user's own."""
    return metric.definition is None and metric.expression is None and metric.gap is None


def names_of(option: str, value: object) -> tuple[str, ...]:
    """Return the names that an option has, which takes one or several."""
    if isinstance(value, str):
        return (value,)
    names = tuple(value) if isinstance(value, Collection) else (value,)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(Option(option, bare=True), f" takes names of columns, not {value!r}.")
    return names  # pyright: ignore[reportReturnType]
