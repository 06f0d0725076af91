"""Make small random inputs and policies from a seed: with ties, gaps, odd ids and grades."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from rankframe.core.options import UnmatchedQueries, Unshared
from tests.support.brute_force import How, Row

ODD = [
    " ", "0", "00", "1", "01", "1.0", "-1", "1e3", "a b", "a  b", " a", "a ", "A", "a", "é",
    "e\u0301", "名前", "😀", "ß", "ss", "None", "null", "NaN", "nan", "true", "inf",
    "q\u00a0", "\u200b", "~", "#x", "a,b", 'a"b', "a'b",
    "a\\b", "a/b", "=1+1", "<b>", "٣", "\ufeff", "x" * 40,
]  # fmt: skip
GRADES = [
    [0, 1],
    [1],
    [0, 1, 2, 3],
    [-2, -1, 0, 1, 2],
    [0, 0.5, 1, 1.5, 2.5],
    [-1, -0.5, 0, 0.25, 3],
    [0],
    [0, 0, 0, 0, 4],
]
SCORES: list[list[float]] = [
    [0.0, 1.0],
    [1.0],
    [-1.0, -0.0, 0.0, 0.5, 2.0],
    [0.1, 0.2, 0.1 + 0.2, 0.3],
    [1e-300, -1e300, 1e300, 5.0, 1.0],
    [i / 7 for i in range(40)],
]


@dataclass
class SmallPair:
    """Hold two small rankings, and the policies with which they are compared."""

    a: list[Row]
    b: list[Row]
    how: How
    missing: Unshared
    unmatched: UnmatchedQueries
    even: bool  # for every query, both are of the same length


@dataclass
class Small:
    """Hold small judgments, a run, weights of queries, and the policies of their evaluation."""

    qrels: dict[str, dict[str, float]]
    rows: list[Row]
    weights: dict[str, float]
    how: How


def ids(chance: Random, count: int, plain: str) -> list[str]:
    """Return `count` different ids: plain ones, odd ones, or both."""
    pool = [f"{plain}{i}" for i in range(count)]
    if chance.random() < 0.6:
        pool = [*ODD, *(pool if chance.random() < 0.5 or count > len(ODD) else [])]
    return chance.sample(pool, count)


def rows_of(
    chance: Random, query: str, docs: list[str], how: How, scores: list[float]
) -> list[Row]:
    """Return the rows of a query in the run: documents with scores, or with ranks and gaps."""
    if how.by == "score":
        return [(query, doc, chance.choice(scores)) for doc in docs]
    deepest = len(docs) + chance.choice([0, 0, 3])
    ranks = sorted(chance.sample(range(1, deepest + 1), len(docs)))
    return [(query, doc, float(i)) for doc, i in zip(docs, ranks, strict=True)]


def policies(chance: Random) -> How:
    by = chance.choice(["score", "score", "rank"])
    order = chance.choice(["columns", "columns", "rows"])
    kept = by == "rank" and order == "columns"
    return How(
        by=by,
        rel=chance.choice([None, None, None, 0, 0.5, 1, 1.5, 2]),
        missing=chance.choice(["zero", "zero", "skip", "error"]),
        no_relevant=chance.choice(["zero", "skip"]),
        order=order,
        ranks=chance.choice(["renumbered", "kept"]) if kept else "renumbered",
        ties=chance.choice(["doc_desc", "doc_asc", "as_given"]),
        duplicates=chance.choice(["error", "keep_best", "keep_best"]),
        k_max=chance.choice([None, None, 1, 3, 10]),
        judged_only=chance.random() < 0.3,
    )


def small(seed: int) -> Small:
    """Make an input of few queries and documents from a seed."""
    chance = Random(seed)
    how = policies(chance)
    names = ids(chance, chance.randint(1, 8), "q")
    docs = ids(chance, chance.randint(1, 30), "d")
    grades, scores = chance.choice(GRADES), chance.choice(SCORES)
    judged = [name for name in names if chance.random() < 0.85] or names[:1]
    retrieved = [name for name in names if chance.random() < 0.85] or names[-1:]
    if how.missing == "error" and chance.random() < 0.8:
        retrieved = names
    qrels = {
        name: {
            doc: float(chance.choice(grades))
            for doc in chance.sample(docs, chance.choice([1, chance.randint(1, len(docs))]))
        }
        for name in judged
    }
    rows: list[Row] = []
    for name in retrieved:
        few = chance.sample(docs, chance.choice([1, chance.randint(1, len(docs)), len(docs)]))
        rows += rows_of(chance, name, few, how, scores)
    if how.by == "score" and chance.random() < 0.3:
        again = chance.sample(rows, min(3, len(rows)))
        rows += [(query, doc, chance.choice(scores)) for query, doc, _ in again]
    chance.shuffle(rows)
    weights = {name: chance.choice([0.0, 0.5, 1.0, 3.0]) for name in names}
    weights[judged[0]] = 2.0
    return Small(qrels, rows, weights, how)


def small_pair(seed: int) -> SmallPair:
    """Make two rankings of few queries and documents from a seed."""
    chance = Random(seed)
    how = replace(policies(chance), ranks="renumbered", judged_only=False)
    names = ids(chance, chance.randint(1, 6), "q")
    docs = ids(chance, chance.randint(1, 12), "d")
    scores_a, scores_b = chance.choice(SCORES), chance.choice(SCORES)
    even = chance.random() < 0.4
    a: list[Row] = []
    b: list[Row] = []
    for name in names:
        few = chance.randint(1, len(docs))
        if even or name == names[0] or chance.random() < 0.9:
            a += rows_of(chance, name, chance.sample(docs, few), how, scores_a)
        few = few if even else chance.randint(1, len(docs))
        if even or name == names[-1] or chance.random() < 0.9:
            b += rows_of(chance, name, chance.sample(docs, few), how, scores_b)
    chance.shuffle(a)
    chance.shuffle(b)
    missing: Unshared = chance.choice(["shared", "bottom"])
    unmatched: UnmatchedQueries = chance.choice(["keep", "skip"])
    return SmallPair(a, b, how, missing, unmatched, even)
