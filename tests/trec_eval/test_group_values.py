"""Averages over groups of judgments: `*_avgjg`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from rankframe.trec_eval.evaluate import TrecOptions, evaluate_trec
from tests.support.group_cases import random_scores, written_run
from tests.support.oracles import about
from tests.support.trec_cases import Output

QRELS = """\
q1 u1 a 1
q1 u1 b 0
q1 u1 c 1
q1 u2 b 2
q1 u2 d 1
q2 u1 a 0
q3 u1 a 1
"""
RUN = """\
q1 Q0 b 1 4 demo
q1 Q0 a 2 3 demo
q1 Q0 x 3 2 demo
q1 Q0 c 4 1 demo
q2 Q0 a 1 1 demo
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    judgments, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    judgments.write_text(QRELS)
    run.write_text(RUN)
    return judgments, run


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        # u1 finds its 2 at ranks 2 and 4: (1/2 + 2/4)/2; u2 one of 2 at rank 1: (1/1)/2
        (("-m", "map_avgjg"), {"map_avgjg": (1 / 2 + 1 / 2) / 2}),
        # without x, c stands at rank 3 for u1, and b alone for u2: ((1/2 + 2/3)/2 + 1/2)/2
        (("-m", "map_avgjg", "-J"), {"map_avgjg": (7 / 12 + 1 / 2) / 2}),
        # u2 has one document of grade 2, and it is the first; u1 has none
        (("-m", "map_avgjg", "-l", 2), {"map_avgjg": (0 + 1) / 2}),
        # every judged document: b, a, c of u1 at 1, 2, 4; b of u2
        (("-m", "map_avgjg", "-l", 0), {"map_avgjg": ((1 + 1 + 3 / 4) / 3 + 1 / 2) / 2}),
        (("-m", "map_avgjg", "-M", 2), {"map_avgjg": (1 / 4 + 1 / 2) / 2}),
        # 2 and 1 of 5; 1 and 1 of 2
        (("-m", "P_avgjg.5,2"), {"P_avgjg_2": 1 / 2, "P_avgjg_5": 3 / 10}),
        # R = 2 for both: at ⌊0.4 + 0.9⌋ = 1, ⌊2 + 0.9⌋ = 2 and ⌊4 + 0.9⌋ = 4
        (
            ("-m", "Rprec_mult_avgjg.0.2,1,2"),
            {
                "Rprec_mult_avgjg_0.20": (0 + 1) / 2,
                "Rprec_mult_avgjg_1.00": 1 / 2,
                "Rprec_mult_avgjg_2.00": (2 / 4 + 1 / 4) / 2,
            },
        ),
    ],
)
def test_values_by_hand(
    args: tuple[object, ...],
    expected: dict[str, float],
    files: tuple[Path, Path],
    trec_eval: Callable[..., Output],
) -> None:
    code, out, _ = trec_eval("-R", "qrels_jg", "-q", "-n", *args, *files)
    assert code == 0
    lines = out.splitlines()
    assert lines[: len(expected)] == [
        f"{label:<22}\tq1\t{value:.4f}" for label, value in expected.items()
    ]
    # q2 has nothing of grade 1, q3 is not in the run
    nothing = 1.0 if "-l" in args and 0 in args else 0.0
    assert lines[len(expected) :] == [f"{label:<22}\tq2\t{nothing:.4f}" for label in expected]


def test_unasked_all_measures_of_groups_are_printed(
    files: tuple[Path, Path], trec_eval: Callable[..., Output], message
) -> None:
    code, out, err = trec_eval("-R", "qrels_jg", *files)
    assert code == 0
    assert len(out.splitlines()) == 2 + 1 + 9 + 10
    assert out.splitlines()[1:3] == [
        "num_q                 \tall\t2",
        "map_avgjg             \tall\t0.2500",
    ]
    message(err)
    complete = trec_eval("-R", "qrels_jg", "-c", "-m", "map_avgjg", *files)[1]
    assert complete == f"{'map_avgjg':<22}\tall\t{0.5 / 3:.4f}\n"


def test_one_group_is_as_plain_judgments_are(tmp_path: Path) -> None:
    chance = Random(3)
    scores = random_scores(chance)
    run = str(written_run(scores, tmp_path / "run.txt"))
    lines = [f"{q} 0 d{i} {chance.randint(0, 2)}" for q in scores for i in range(8)]
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("\n".join(lines) + "\n")
    groups = ["map_avgjg", "P_avgjg", "Rprec_mult_avgjg"]
    plain = [name.removesuffix("_avgjg") for name in groups]
    for level in (1, 2):
        of = TrecOptions(level=level)
        in_groups = TrecOptions(level=level, rel_format="qrels_jg")
        ours = evaluate_trec(str(qrels), run, groups, in_groups).summary["text"]
        assert ours.to_list() == evaluate_trec(str(qrels), run, plain, of).summary["text"].to_list()


def by_definition(grades: dict[str, int], ranking: list[str], level: int) -> dict[str, float]:
    hits = [i for i, doc in enumerate(ranking, 1) if grades.get(doc, -1) >= level]
    total = sum(grade >= level for grade in grades.values())
    cut = int(0.6 * total + 0.9)
    return {
        "map_avgjg": sum(n / i for n, i in enumerate(hits, 1)) / total if total else 0.0,
        "P_avgjg_3": sum(i <= 3 for i in hits) / 3,
        "Rprec_mult_avgjg_0.60": sum(i <= cut for i in hits) / cut if cut else 0.0,
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("judged_only", [False, True])
def test_values_by_definition(seed: int, judged_only: bool, tmp_path: Path) -> None:
    chance = Random(seed)
    scores = random_scores(chance)
    level, depth = chance.choice([0, 1, 2]), chance.choice([None, 4])
    judged = {
        query: {
            f"u{group}": {
                f"d{i}": chance.choice([-1, 0, 1, 2, 3])
                for i in chance.sample(range(12), chance.randint(1, 9))
            }
            for group in range(chance.randint(1, 3))
        }
        for query in scores
    }
    lines = [f"{q} {g} {doc} {grade}" for q, of in judged.items() for g, docs in of.items()
             for doc, grade in docs.items()]  # fmt: skip
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("\n".join(chance.sample(lines, len(lines))) + "\n")
    run = written_run(scores, tmp_path / "run.txt")
    measures = ["map_avgjg", "P_avgjg.3", "Rprec_mult_avgjg.0.6"]
    options = TrecOptions(
        level=level, deepest=depth, judged_only=judged_only, rel_format="qrels_jg"
    )
    found = evaluate_trec(str(qrels), str(run), measures, options).values
    for row in found.to_dicts():
        query = row.pop("query_id")
        of = scores[query]
        top = sorted(sorted(of, reverse=True), key=lambda doc: -of[doc])[:depth]
        values = [
            by_definition(
                grades,
                [doc for doc in top if grades.get(doc, -1) >= 0] if judged_only else top,
                level,
            )
            for grades in judged[query].values()
        ]
        assert row == about({label: fmean(one[label] for one in values) for label in values[0]})
