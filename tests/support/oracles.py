"""Provide random judgments and runs, single lists, and functions that evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import rankframe as rf

# by query and document (grades, scores), or by query and label (values)
Table = dict[str, dict[str, Any]]

# Ids that a careless comparison confuses, cuts short or puts in the wrong order.
ODD_IDS = (
    "7", "07", "7.0", "it's", 'say "so"', "with space", "ü", "U", "Ω", "😀", "😀😀",
    "x" * 300, "x" * 300 + "y", "null", "NaN",
)  # fmt: skip
DOCUMENTS = (*ODD_IDS, *(f"d{i}" for i in range(15)))
QUERIES = (*ODD_IDS, "q1", "q2", "q10")
# Quarters are exact in float32, in which trec_eval 9 compares scores: its ties are ours.
SCORES = tuple(quarters / 4 for quarters in range(-4, 9))


@dataclass(frozen=True)
class Ranking:
    """Hold one query for a plain definition of a metric: grades in rank order and all judgments."""

    # in rank order; None: not judged
    grades: list[int | None]
    # of all judged documents
    judged: list[int]
    # the largest of all queries
    top_grade: int

    @property
    def gains(self) -> list[int]:
        """Return the gain at each rank; negative grades gain nothing."""
        return [max(grade or 0, 0) for grade in self.grades]

    @property
    def ideal(self) -> list[int]:
        """Return the gain at each rank of the ideal list."""
        return sorted((max(grade, 0) for grade in self.judged), reverse=True)

    @property
    def relevant_ranks(self) -> list[int]:
        return [rank for rank, gain in enumerate(self.gains, 1) if gain > 0]

    @property
    def relevant_total(self) -> int:
        return sum(grade > 0 for grade in self.judged)


Definition = Callable[[Ranking], float | None]


@dataclass(frozen=True)
class Case:
    """Hold judgments and a run as nested dicts."""

    qrels: Table
    run: Table

    @property
    def missing(self) -> list[str]:
        """Return the judged queries that the run lacks."""
        return [query for query in self.qrels if query not in self.run]

    def values(self, metrics: str | Iterable[str], **options: Any) -> Table:
        """Return the values that `rf.evaluate` computes, by query and metric."""
        result = rf.evaluate(self.qrels, self.run, metrics, no_overlap="zero", ci=None, **options)
        return {row.pop("query_id"): row for row in result.per_query.to_dicts()}

    def rankings(self) -> dict[str, Ranking]:
        """Return every judged query, ranked by score, then by id in byte order, both descending."""
        top = max(grade for docs in self.qrels.values() for grade in docs.values())
        rankings = {}
        for query, judged in self.qrels.items():
            scores = self.run.get(query, {})
            order = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
            rankings[query] = Ranking([judged.get(d) for d in order], list(judged.values()), top)
        return rankings

    def cut(self, k_max: int | None = None, *, judged_only: bool = False) -> Case:
        """Return the case with the lists that these policies leave; empty lists stay in the run."""
        run = {}
        for query, scores in self.run.items():
            order = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
            judged = self.qrels.get(query, {})
            left = [d for d in order[:k_max] if not judged_only or judged.get(d, -1) >= 0]
            run[query] = {doc: scores[doc] for doc in left}
        return Case(self.qrels, run)

    def assert_defined_as(self, definitions: dict[str, Definition]) -> None:
        """Assert that each metric has the value of its plain definition in every judged query."""
        ours = self.values(definitions)
        different = {
            (query, metric): (ours[query][metric], expected)
            for query, ranking in self.rankings().items()
            for metric, define in definitions.items()
            if not same(ours[query][metric], expected := define(ranking))
        }
        assert not different


def one_list(grades: Sequence[float | None], missing: Sequence[float] = ()) -> Case:
    """Return a case with one query "q": grades in rank order, and grades of missing documents. None
    is an unjudged document.
    """
    judged = {f"d{i:02}": g for i, g in enumerate(grades) if g is not None}
    judged |= {f"m{i:02}": g for i, g in enumerate(missing)}
    retrieved = {f"d{i:02}": -float(i) for i in range(len(grades))}
    # A run needs a row: without one for q, q is missing from it.
    return Case({"q": judged}, {"q": retrieved} if retrieved else {"elsewhere": {"x": 1.0}})


def value(
    metric: str, grades: Sequence[float | None], missing: Sequence[float] = (), **options: Any
) -> Any:
    """Return the value of a metric for one list, given as in `one_list`."""
    return one_list(grades, missing).values(metric, **options)["q"][metric]


def same(found: float | None, expected: float | None) -> bool:
    """Return whether two values are both undefined, or approximately equal."""
    return found is expected if found is None or expected is None else found == about(expected)


def about(expected: Any, digits: int = 12) -> Any:
    """Return a pytest approximation of a number or of numbers, to so many decimal places."""
    return pytest.approx(expected, rel=0, abs=0.5001 * 10**-digits)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw judgments and a run over a few odd ids, with ties, gaps and unjudged documents. Some
    queries are on one side only, and some judged documents are not retrieved.
    """
    documents, queries = st.sampled_from(DOCUMENTS), st.sampled_from(QUERIES)
    grades = st.dictionaries(documents, st.integers(-1, 3), min_size=1, max_size=18)
    scores = st.dictionaries(documents, st.sampled_from(SCORES), min_size=1, max_size=18)
    return Case(
        qrels=draw(st.dictionaries(queries, grades, min_size=1, max_size=5)),
        run=draw(st.dictionaries(queries, scores, min_size=1, max_size=5)),
    )


def random_case(
    seed: int, *, queries: int = 30, lowest: int = -1, tied: bool = True, missing: bool = True
) -> Case:
    """Make a larger random case, with the same features, from a seed.

    Not `tied`: no two scores of a query are equal. Not `missing`: each side has every query.
    Every query has a document of the highest grade, 3.
    """
    random = np.random.default_rng(seed)
    documents = np.array(["best", *(f"d{i}" for i in range(39))])

    def some() -> list[str]:
        return random.choice(documents, random.integers(1, 25), replace=False).tolist()

    def scores(size: int) -> list[float]:
        if tied:
            return (random.integers(-4, 9, size) / 4).tolist()
        return random.permutation(np.arange(size) / 4).tolist()

    names = [f"q{i}" for i in range(queries)]
    judged = names if not missing else [*names[:-3], "judged only", "judged too"]
    retrieved = names if not missing else names[2:]
    qrels = {
        query: {doc: int(random.integers(lowest, 4)) for doc in some()} | {"best": 3}
        for query in judged
    }
    run = {query: dict(zip(docs := some(), scores(len(docs)), strict=True)) for query in retrieved}
    return Case(qrels, run)


# (grades in rank order, grades of what was not retrieved) where there is nothing to hit, and where
# there is nothing to gain.
_NOTHING = [
    pytest.param([0, None, -1], [0], id="nothing relevant"),
    pytest.param([0, None], [1], id="nothing relevant retrieved"),
    pytest.param([], [0], id="nothing at all"),
]
NOTHING_HIT = [pytest.param([], [1, 0], id="nothing retrieved"), *_NOTHING]
NOTHING_GAINED = [
    pytest.param([], [2, 0], id="nothing retrieved"),
    pytest.param([-1, None], [-2], id="negative grades only"),
    *_NOTHING,
]
