"""What is judged and what is shown, evaluated together: one result of both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, Policies
from rankframe.engine.contiguous import Told
from rankframe.engine.item_slices import ItemsBy
from rankframe.engine.job import Job, evaluate_found, judged_plan
from rankframe.engine.ledger import Counts
from rankframe.engine.plan import PerQuery, Plan
from rankframe.engine.retrieved import Showing, ShownCounts
from rankframe.engine.tally import tally_values
from rankframe.engine.work import Additive, Piece, merged
from rankframe.frames.items import Catalogue, Trained
from rankframe.frames.retrieved_columns import SHOWN_FRAME
from rankframe.frames.side_inputs import JUDGED, WHAT, beside
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Columns
from rankframe.io.opening import open_table
from rankframe.io.queries import Attributes, Known
from rankframe.io.train import open_train
from rankframe.io.validate import check_input
from rankframe.kernel.codes import text_order
from rankframe.metrics.metric import Metric
from rankframe.metrics.parts import Parts
from rankframe.metrics.registry import Frame

# What the metrics of a run may look at.
RUN_FRAMES: Final[tuple[Frame, ...]] = ("judged", "grouped", "shown", "documents")


@dataclass(frozen=True)
class BothCounts(Additive):
    """What was counted of both."""

    # None: nothing is judged
    judged: Counts | None
    shown: ShownCounts
    # evaluated queries that the frame of queries lacks, those without a proper weight, and one
    absent: int = 0
    unweighted: int = 0
    weightless: str | None = None
    evaluated: int = 0

    @property
    def rows(self) -> tuple[int, int]:
        """Rows beside the run, and of the run."""
        return self.shown.rows


@dataclass(frozen=True)
class Both:
    """The evaluation of a run (right) with all that lies beside it (left), piece by piece."""

    # all metrics, as they were asked for
    metrics: tuple[Metric, ...]
    # None: no metric looks at judgments
    judged: Job | None
    showing: Showing
    train: InputTable | None
    base: InputTable | None
    attributes: Attributes | None = None
    intervals: Intervals = field(default_factory=Intervals)
    # all metrics in order, where gaps between slices are among them
    asked: tuple[Metric, ...] = ()
    row_bytes: ClassVar[tuple[int, int]] = (160, 260)

    @property
    def plan(self) -> Plan:
        """What is averaged over queries."""
        averaged = tuple(one for one in self.metrics if one.frame != "documents")
        return Plan(averaged, Parts(), {}, {})

    @property
    def policies(self) -> Policies:
        """What counts."""
        return self.showing.policies

    @property
    def unit(self) -> Any:
        """What documents are part of, for those that hand over pieces of a run as it was read."""
        return self.policies.unit

    @property
    def max_grade(self) -> float | None:
        """The largest grade of all, where it is known."""
        return None if self.judged is None else self.judged.max_grade

    @property
    def judged_alone(self) -> Job:
        """What looks at judgments, without what is summed up of both."""
        assert self.judged is not None  # whoever asks looked
        return replace(self.judged, intervals=Intervals(None), attributes=None)

    @property
    def others(self) -> list[InputTable]:
        """The inputs that are neither run nor judgments."""
        return [side for side in (self.train, self.base) if side is not None]

    def left(self, qrels: InputTable | None) -> InputTable:
        """All that lies beside the run and is looked at."""
        asked = self.showing.asked | ({JUDGED} if self.judged is not None else set())
        kinds = (qrels, self.train, self.base)
        sides = [one if what in asked else None for what, one in enumerate(kinds)]
        return beside(*sides, limit=None if qrels is None else qrels.limit)

    def piece(self, left: pl.DataFrame, right: pl.DataFrame) -> Piece:
        """Evaluate queries whose rows, of both sides, are all here (see `Work.piece`)."""
        judged = None
        if self.judged is not None:
            rows = left.filter(pl.col(WHAT) == JUDGED).drop(WHAT)
            job = self.judged_alone
            lookup = job.lookup(part_of(rows, "qrels"), part_of(right, "run"))
            judged = merged(evaluate_found(lookup.found(), job))
        return self.together(judged, *self.showing.worked(left, part_of(right, "run")))

    def shown(
        self, qrels: InputTable | None, run: InputTable, told: Told
    ) -> tuple[PerQuery, ShownCounts]:
        """Read a run with what lies beside it, where all of that fits in memory."""
        if qrels is not None and self.judged is None and JUDGED in self.showing.asked:
            check_input(qrels)
        only = replace(self, judged=None).left(qrels)
        return self.showing.worked(only.frame.collect(engine="streaming"), run, told)

    def together(self, judged: Piece | None, shown: PerQuery, counts: ShownCounts) -> Piece:
        """What was computed of both, as one."""
        computed = shown if judged is None else _joined(self.plan, judged.computed, shown)
        known = Known() if self.attributes is None else self.attributes.of(computed.values[QUERY])
        of_judged = None if judged is None else judged.counts
        assert isinstance(of_judged, Counts | None)
        return Piece(
            computed,
            tally_values(self.plan.metrics, computed, known, self.intervals),
            BothCounts(
                of_judged, counts, known.absent, known.unweighted, known.example, computed.height
            ),
        )


def _joined(plan: Plan, judged: PerQuery, shown: PerQuery) -> PerQuery:
    """Values of the same queries side by side; null where only one side has a query."""
    ours, theirs = (
        side.values.select(QUERY).with_row_index(name)
        for side, name in ((judged, "judged"), (shown, "shown"))
    )
    both = ours.join(theirs, on=QUERY, how="full", coalesce=True)
    both = both[text_order(both[QUERY])]

    def taken(name: str, frames: tuple[pl.DataFrame, ...]) -> list[pl.DataFrame]:
        return [frame[:0] if not frame.width else frame.select(pl.all().gather(both[name]))
                for frame in frames]  # fmt: skip

    left, right = taken("judged", judged.frames), taken("shown", shown.frames)
    values = {**{c.name: c for c in right[0]}, **{c.name: c for c in left[0]}}
    sums = [pl.DataFrame([*one, *other]) for one, other in zip(left[1:], right[1:], strict=True)]
    return PerQuery(pl.DataFrame([both[QUERY], *(values[label] for label in plan.labels)]), *sums)


def job_for(
    metrics: Sequence[Metric],
    policies: Policies,
    *,
    judgments: bool = True,
    columns: Columns | None = None,
    attributes: Attributes | None = None,
    slices: Attributes | None = None,
    intervals: Intervals | None = None,
    limit: int | None = None,
    items_by: ItemsBy | None = None,
) -> Job | Both:
    """The evaluation of metrics, whatever they look at; `judgments`: whether there are any.

    `slices`: those of metrics over documents, where they are not among the attributes.
    """
    intervals = intervals or Intervals()
    _refuse_unknown(metrics, policies)
    judged = [metric for metric in metrics if metric.of_judgments]
    if judged and not judgments:
        raise OptionError(
            f"{judged[0].label!r} needs judgments: without ", Option("qrels", bare=True),
            ", give metrics of what was shown alone, such as coverage@10.",
        )  # fmt: skip
    job = Job(judged_plan(judged), policies, attributes=attributes, intervals=intervals)
    if len(judged) == len(metrics) and items_by is None:
        refuse_idle(policies)
        return job
    train = None if policies.train is None else open_train(policies.train, columns, limit=limit)
    base = None
    if policies.base is not None:
        base = open_table(
            policies.base, "run", columns, order=policies.order, ranks=policies.ranks,
            called="base", limit=limit,
        )  # fmt: skip
        check_input(base)
    trained = None if train is None else Trained.of(train)
    catalogue = Catalogue.of(trained, policies.items, policies.catalogue, columns, limit=limit)
    showing = Showing.of(
        [metric for metric in metrics if not metric.of_judgments],
        policies,
        catalogue,
        given=given_tables(policies, judgments=judgments),
        attributes=slices or attributes,
        items_by=items_by,
    )
    return Both(
        tuple(metrics), job if judged else None, showing, train, base, attributes, intervals
    )


def _refuse_unknown(metrics: Sequence[Metric], policies: Policies) -> None:
    """Refuse an expression over what no frame has: a misspelt column, where nothing says that it
    is one of items.
    """
    if policies.shows:
        return
    for metric in metrics:
        if metric.definition is None and metric.frame == "shown" and metric.looks_at is None:
            names = metric.expr().meta.root_names()
            if not all(map(SHOWN_FRAME.find, names)):
                judged_plan([replace(metric, looks_at="judged")])


def given_tables(policies: Policies, *, judgments: bool) -> Collection[str]:
    """Which tables there are that metrics of what is shown may need."""
    given = {name for name in ("train", "items", "base") if getattr(policies, name) is not None}
    return given | ({"qrels"} if judgments else set())


def refuse_idle(policies: Policies) -> None:
    """Refuse tables that nobody looks at."""
    for name in ("items", "catalogue", "base"):
        if getattr(policies, name) is not None:
            raise OptionError(
                Option(name, bare=True),
                " has no effect: no metric looks at what was shown. Add one, such as coverage@10.",
            )
    if policies.train is not None and not policies.exclude_seen:
        raise OptionError(
            Option("train", bare=True), " has no effect: no metric looks at what was shown. Add "
            "one, such as novelty@10, or pass ", Option("exclude_seen", value=True), ".",
        )  # fmt: skip
