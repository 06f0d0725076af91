"""A handful of metrics under the names of ir_measures, as its providers compute them.

ir_measures has no provider of RBP without a further package; test_ranx has RBP.
"""

from __future__ import annotations

import shutil

import ir_measures
import pytest

from tests.support.oracles import Case, Table, about, random_case

NAMES = (
    "nDCG", "nDCG@10", "AP", "AP@5", "AP(rel=2)", "RR", "P@5", "P(rel=2)@5", "R@5", "R(rel=2)@10",
    "Success@1", "Success(rel=2)@5", "Rprec", "Bpref", "SetP", "SetR", "SetF",
    "SetF(beta=2.0)", "SetAP", "SetAP(rel=2)", "NumRet", "NumRel", "infAP",
)  # fmt: skip


def by_ir_measures(case: Case, names: tuple[str, ...]) -> Table:
    labels = {ir_measures.parse_measure(name): name for name in names}
    values: Table = {}
    for found in ir_measures.iter_calc(list(labels), case.qrels, case.run):
        values.setdefault(found.query_id, {})[labels[found.measure]] = found.value
    return values


@pytest.mark.parametrize("seed", range(3))
def test_same_values_as_ir_measures(seed: int) -> None:
    # A query that the run lacks has no value there.
    case = random_case(seed, missing=False)
    ours, theirs = case.values(NAMES), by_ir_measures(case, NAMES)
    assert ours.keys() == theirs.keys()
    for query, values in ours.items():
        assert values == about(theirs[query])


def test_same_share_of_judged_documents() -> None:
    # Here ir_measures puts equal scores in ascending order, unlike in its other metrics.
    case, names = random_case(0, missing=False), ("Judged@3", "Judged@10", "Judged")
    theirs = by_ir_measures(case, names)
    for query, values in case.values(names, ties="doc_asc").items():
        assert values == about(theirs[query])


@pytest.mark.parametrize("seed", range(3))
def test_same_compatibility(seed: int) -> None:
    # Its ideal list has equal scores in the order of the judgments, and takes 0 for the score of
    # what was not retrieved: scores are made to differ, and to be above it.
    case, names = random_case(seed, missing=False), ("Compat", "Compat(p=0.8, normalize=False)")
    run = {
        query: {doc: 1.0 + at for at, doc in enumerate(sorted(scores, key=lambda d: scores[d]))}
        for query, scores in case.run.items()
    }
    case = Case(case.qrels, run)
    theirs = by_ir_measures(case, names)
    for query, values in case.values(names).items():
        assert values == about(theirs[query])


def test_numret_with_a_level_counts_the_relevant_ones() -> None:
    case = random_case(0, missing=False)
    names = ("NumRet(rel=1)", "NumRet(rel=2)")
    assert case.values(names) == by_ir_measures(case, names)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a perl script")
@pytest.mark.parametrize("seed", range(2))
def test_same_values_as_gdeval(seed: int) -> None:
    # gdeval wants numbers for queries, takes 4 for the largest grade and prints five digits.
    case = random_case(seed, lowest=0, missing=False)
    case = Case(numbered(case.qrels), numbered(case.run))
    theirs = by_ir_measures(case, ("ERR@5", "nDCG(dcg='exp-log2')@5"))
    ours = case.values(["err(max_grade=4)@5", "nDCG(dcg='exp-log2')@5"])
    for query, values in ours.items():
        assert values == {
            "err(max_grade=4)@5": about(theirs[query]["ERR@5"], digits=5),
            "nDCG(dcg='exp-log2')@5": about(theirs[query]["nDCG(dcg='exp-log2')@5"], digits=5),
        }


def numbered(side: Table) -> Table:
    return {query.removeprefix("q"): documents for query, documents in side.items()}
