"""Any input in any form, through any command: right, or refused in one sentence.

`--inputs 2000` tries more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

import rankframe as rf
from tests.against.test_definitions import differences, same
from tests.cli.shell import rankframe as shell
from tests.support import brute_force, brute_pairs
from tests.support.brute_force import RefusedError, Values
from tests.support.fuzzed import Case, case, flags, options, source, spoil

METRICS = ["map", "ndcg@5", "precision@3", "recall@10", "mrr", "judged@10", "bpref"]
PAIRED = ["rbo", "overlap@3", "jaccard", "kendall_tau", "average_overlap"]
TREC = {
    "map": "map", "ndcg": "ndcg", "recip_rank": "mrr", "P_5": "precision@5",
    "recall_5": "recall@5", "bpref": "bpref", "Rprec": "r_precision", "num_ret": "num_retrieved",
}  # fmt: skip
POLICIES = [
    "rel", "missing", "no_relevant", "order", "ranks", "ties", "duplicates", "k_max", "judged_only",
]  # fmt: skip
ENDINGS = ["parquet", "csv", "tsv", "jsonl", "trec", "csv.gz", "trec.zst", "arrow", "jsonl.bz2"]
TWO = ["order", "ties", "duplicates", "k_max"]


class Refusal(Exception):  # noqa: N818 (no error: an answer that is allowed)
    """The call was refused as it should be: by one line, and a code."""


def called(*args: object, codes: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """Exit code and stdout of a command that worked."""
    code, out, err = shell(*args)
    if code in codes and (code < 2 or out):
        return code, out
    assert (out, err.count("\n"), err[:11]) == ("", 1, "rankframe: "), (code, out, err)
    assert code == 2 or args[0] == "trec_eval", (code, err)
    raise Refusal(err)


def asked(case: Case, names: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Policies as arguments and as flags, with what spoils them."""
    given = options(case.how, names)
    if case.spoilt == "no depth":
        given["k_max"] = 0
    return given, flags(given)


def judged_metrics(case: Case) -> list[str]:
    return ["no_such_metric@3"] if case.spoilt == "no metric" else METRICS


def repeated(flag: str, values: list[str]) -> list[str]:
    return [part for value in values for part in (flag, value)]


def evaluate(case: Case, qrels: Any, run: Any, _: Any, folder: Path) -> list[str]:
    given, said = asked(case, POLICIES)
    labels = judged_metrics(case)
    if case.shell:
        per_query, summary = folder / "values.parquet", folder / "summary.parquet"
        called(
            "evaluate", qrels, run, *repeated("-m", labels), *said, "--no-overlap", "zero",
            "--per-query", per_query, "--summary", summary, "--ci", "none",
        )  # fmt: skip
        got: Any = SimpleNamespace(
            per_query=pl.read_parquet(per_query), summary=pl.read_parquet(summary)
        )
    else:
        got = rf.evaluate(qrels, run, labels, no_overlap="zero", ci=None, **given)
    return list(differences(expected(case, case.given.rows), got))


def expected(case: Case, rows: list[Any]) -> Values:
    return brute_force.evaluate(case.given.qrels, rows, METRICS, case.how)


def compare(case: Case, qrels: Any, run: Any, other: Any, folder: Path) -> list[str]:
    given, _ = asked(case, POLICIES)
    given.setdefault("missing", "zero")
    labels = judged_metrics(case)
    if case.shell:
        written = folder / "compared"
        called(
            "compare", qrels, run, other, *repeated("-m", labels), *flags(given),
            "--no-overlap", "zero", "-o", written, "--ci", "none",
        )  # fmt: skip
        table = pl.read_parquet(written / "table.parquet")
    else:
        systems = {"run": run, "other": other}
        table = rf.compare(qrels, systems, labels, no_overlap="zero", ci=None, **given).table
    one, two = (expected(case, rows).summary for rows in (case.given.rows, case.other))
    return [
        f"{row['metric']}: {row['baseline_value']}, {row['value']}"
        for row in table.to_dicts()
        if not same(row["baseline_value"], one[row["metric"]][0])
        or not same(row["value"], two[row["metric"]][0])
    ]


def diff(case: Case, qrels: Any, run: Any, other: Any, folder: Path) -> list[str]:
    given, said = asked(case, POLICIES)
    metric = judged_metrics(case)[0]
    if case.shell:
        written = folder / "changes.parquet"
        called(
            "diff", qrels, run, other, "-m", metric, *said, "--no-overlap", "zero",
            "--per-query", written,
        )  # fmt: skip
        changes = pl.read_parquet(written)
    else:
        changes = rf.diff(qrels, run, other, metric, no_overlap="zero", **given).per_query
    one, two = (expected(case, rows).per_query for rows in (case.given.rows, case.other))
    # On the shell, columns are called like the runs.
    changes = changes.rename(dict(zip(changes.columns[1:3], "ab", strict=True)))
    got = {row["query_id"]: row for row in changes.to_dicts()}
    if got.keys() != one.keys():
        return [f"queries {sorted(got)} for {sorted(one)}"]
    return [
        f"{query!r}: {row['a']}, {row['b']}"
        for query, row in got.items()
        if not same(row["a"], one[query]["map"]) or not same(row["b"], two[query]["map"])
    ]


def mean_of(case: Case) -> tuple[float | None, int]:
    """Of map, and over how many queries; nothing where the call must be refused."""
    try:
        return expected(case, case.given.rows).summary["map"]
    except RefusedError:
        return None, 0


def gate(case: Case, qrels: Any, run: Any, other: Any, folder: Path) -> list[str]:
    given, _ = asked(case, POLICIES)
    given.setdefault("missing", "zero")
    each: dict[str, Any] = given | {"no_overlap": "zero"}
    labels = judged_metrics(case)
    mean, queries = mean_of(case)
    floor = 0.5 if mean is None else max(mean + (0.001 if case.seed % 2 else -0.001), 0)
    rule = f"map: at least {floor:.12f}"
    if case.shell:
        stored = folder / "stored"
        called(
            "evaluate", qrels, other, *repeated("-m", labels), *flags(each), "-o", stored,
        )  # fmt: skip
        code, _ = called(
            "gate", qrels, run, "-b", stored, "-r", rule, "--min-queries", 2, *flags(each),
            codes=(0, 1) if queries > 1 else (0, 1, 2),
        )  # fmt: skip
    else:
        baseline = rf.evaluate(qrels, other, labels, ci=None, **each)
        verdict = rf.gate(qrels, run, baseline.per_query, [rule], min_queries=2, **each)
        code = {"pass": 0, "fail": 1, "undecided": 2}[verdict.status]
    expected(case, case.given.rows)
    if queries < 2 or mean is None:
        return [] if code == 2 else [f"decided by {queries} queries: {code}"]
    return [] if code == (mean < floor) else [f"{rule} ends with {code}, the mean is {mean}"]


def agree(case: Case, _: Any, run: Any, other: Any, folder: Path) -> list[str]:
    given, said = asked(case, TWO)
    labels = ["no_such_metric"] if case.spoilt == "no metric" else PAIRED
    if case.shell:
        per_query, summary = folder / "values.parquet", folder / "summary.parquet"
        called(
            "agree", run, other, *repeated("-m", labels), *said, "--ci", "none",
            "--per-query", per_query, "--summary", summary,
        )  # fmt: skip
        got: Any = SimpleNamespace(
            per_query=pl.read_parquet(per_query), summary=pl.read_parquet(summary)
        )
    else:
        got = rf.agree(run, other, labels, ci=None, **given)
    how = replace(case.how, ranks="renumbered")
    right = brute_pairs.agree(case.given.rows, case.other, PAIRED, how, "shared", "keep")
    return list(differences(right, got))


def convert(case: Case, qrels: Any, run: Any, _: Any, folder: Path) -> list[str]:
    said = asked(case, ["order", "duplicates"])[1]
    ending = ENDINGS[case.seed % len(ENDINGS)]
    written = folder / f"converted.{ending}"
    called("convert", run, written, "--kind", "run", "--overwrite", *said)
    # What was written has scores or ranks; what a tie or a gap was is decided by then.
    how = replace(case.how, ranks="renumbered", ties="doc_desc", k_max=None)
    policies = options(how, [one for one in POLICIES if one not in ("order", "duplicates")])
    got = rf.evaluate(qrels, written, METRICS, no_overlap="zero", ci=None, **policies)
    right = brute_force.evaluate(case.given.qrels, case.given.rows, METRICS, how)
    return list(differences(right, got))


def trec_eval(case: Case, qrels: Any, run: Any, _: Any, folder: Path) -> list[str]:
    del folder
    how = case.how
    said = ["-c", *(["-l", str(how.rel)] if how.rel else [])]
    said += ["-M", str(how.k_max)] if how.k_max else []
    measures = ["nothing"] if case.spoilt == "no metric" else [*TREC]
    measures = [one.replace("P_5", "P.5").replace("recall_5", "recall.5") for one in measures]
    more = ["--nothing"] if case.spoilt == "no depth" else []
    _, out = called("trec_eval", *said, *repeated("-m", measures), *more, qrels, run)
    lines = (line.split("\t") for line in out.splitlines())
    got = {name.strip(): float(value) for name, query, value in lines if query == "all"}
    right = brute_force.evaluate(case.given.qrels, case.given.rows, [*TREC.values()], how).summary
    return [
        f"{measure}: {got.get(measure)} for {right[label][0]}"
        for measure, label in TREC.items()
        if abs(got[measure] - (right[label][0] or 0)) > 5.1e-5
    ]


WAYS: dict[str, Callable[..., list[str]]] = {
    one.__name__: one for one in (evaluate, compare, diff, gate, agree, convert, trec_eval)
}


def outcome(case: Case, folder: Path) -> tuple[str, str]:
    """What became of a call: right, refused (and what was said), or wrong (and how)."""
    judged = [(q, d, g) for q, docs in case.given.qrels.items() for d, g in docs.items()]
    qrels = source(case, judged, "relevance", folder, "qrels")
    run = spoil(case, source(case, case.given.rows, case.how.by, folder, "run"))
    other = source(case, case.other, case.how.by, folder, "other")
    try:
        wrong = WAYS[case.command](case, qrels, run, other, folder)
    except RefusedError:
        return "wrong", "not refused"
    except (rf.RankframeError, Refusal) as refusal:
        said = str(refusal).strip()
        return ("refused", said) if said and "\n" not in said else ("wrong", f"lines: {said!r}")
    if case.spoilt and not wrong:
        return "wrong", f"not refused: {case.spoilt}"
    return ("wrong", "; ".join(wrong)) if wrong else ("right", "")


def test_right_or_refused(calls: range, tmp_path: Path) -> None:
    wrong: list[str] = []
    right = 0
    for seed in calls:
        one = case(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        kind, said = outcome(one, folder)
        right += kind == "right"
        if kind == "wrong":
            wrong.append(f"seed {seed}, {one.command} {one.forms} {one.ids}: {said}")
    assert wrong == []
    assert right > len(calls) / 2
