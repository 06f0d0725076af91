"""Record what the public API gives for many small cases, bit for bit, and check it later.

    python -m benchmarks.stored_cases write FILE [--only SUBSTRING]
    python -m benchmarks.stored_cases check FILE [--only SUBSTRING]

A file has {case: {output: text}}. Numbers are written so that no other number reads the same. An
error is the name of its class; sentences are left out, as their wording may change.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankframe as rf

Outputs = dict[str, Any]
Case = Callable[[], Outputs]

QUICK: dict[str, Any] = {"replicates": 100}
# Columns of sentences, and of times.
WORDS = ("note", "reason", "date")

# ------------------------------------------------------------------------------------------ data

ODD_IDS = ("0", "00", "-1", "é", "ß ü", "a,b", 'say "x"', "Q0", "NaN", "null", "日本", " ", "1e3")


def query_name(number: int, kind: str) -> Any:
    """Return the id of a query: a number, plain text, or text that is easily misread."""
    if kind == "int":
        return number
    if kind == "odd" and number < len(ODD_IDS):
        return ODD_IDS[number]
    return f"q{number:04}"


def make_truth(queries: int = 110, seed: int = 1, ids: str = "odd", docs: int = 30) -> pl.DataFrame:
    """Return judgments: grades from -1 to 3, queries without judgments or relevant documents."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(queries):
        if number % 7 == 3:
            continue
        for doc in rng.permutation(docs)[: rng.integers(1, 12)]:
            grade = int(rng.integers(-1, 4)) if number % 13 else int(rng.integers(-1, 1))
            rows.append((query_name(number, ids), doc_name(int(doc), ids), grade))
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "relevance"], orient="row")


def doc_name(number: int, kind: str) -> Any:
    """Return the id of a document."""
    return number if kind == "int" else f"d{number}"


def make_run(
    queries: int = 110, seed: int = 2, ids: str = "odd", docs: int = 30, skip: int = 11
) -> pl.DataFrame:
    """Return a run in no order of scores, with ties, and without some of the queries."""
    rng = np.random.default_rng(seed)
    truth = {(q, d): g for q, d, g in make_truth(queries, ids=ids, docs=docs).iter_rows()}
    rows = []
    for number in range(queries + 5):
        if number % skip == 5:
            continue
        query = query_name(number, ids)
        for place in rng.permutation(docs)[: rng.integers(1, 25)]:
            doc = doc_name(int(place), ids)
            score = float(rng.integers(-6, 7) + truth.get((query, doc), 0) * (seed % 3)) / 7
            rows.append((query, doc, score))
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


@cache
def tables() -> dict[str, pl.DataFrame]:
    """Return all tables that cases share, by name."""
    rng = np.random.default_rng(11)
    found = {"truth": make_truth(), "a": make_run(), "b": make_run(seed=4), "c": make_run(seed=6)}
    found["d"] = make_run(seed=5, skip=6)
    names = pl.concat([found["truth"]["query_id"], found["a"]["query_id"]]).unique().sort()
    count = len(names)
    found["queries"] = pl.DataFrame(
        {
            "query_id": names,
            "locale": [("de", "en", None)[i % 3] for i in range(count)],
            "device": [("phone", "desk")[i // 2 % 2] for i in range(count)],
            "w": (rng.integers(0, 9, count) / 4).tolist(),
        }
    )
    found["known"] = found["queries"].filter(pl.col("query_id") != "q0050")
    found["train"] = (
        pl.DataFrame(
            {
                "query_id": names.gather(rng.integers(0, count - 9, 700)),
                "doc_id": [f"d{int(n)}" for n in np.minimum(rng.exponential(9, 700), 33)],
                "count": rng.integers(1, 5, 700),
            }
        )
        .unique(["query_id", "doc_id"], maintain_order=True)
        .sort("query_id", "doc_id")
    )
    found["items"] = pl.DataFrame(
        [
            (
                f"d{n}",
                ("x", "y", None, "z")[int(rng.integers(0, 4))],
                list("xyzw"[: int(rng.integers(0, 5))]),
                None if n % 9 == 4 else rng.normal(size=3).tolist(),
                float(rng.integers(1, 50)),
            )
            for n in range(28)
        ],
        schema={
            "doc_id": pl.String,
            "genre": pl.String,
            "genres": pl.List(pl.String),
            "vector": pl.List(pl.Float64),
            "price": pl.Float64,
        },
        orient="row",
    )
    found["subtopics"] = make_subtopics()
    ranked = found["a"].with_columns(
        rank=pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64)
    )
    found["ranked"] = ranked.with_columns(rank=pl.col("rank") * 2 - 1).drop("score")
    found["sparse"] = found["ranked"].filter(pl.col("rank") % 3 != 0)
    found["twice"] = pl.concat([found["a"], found["b"]])
    part = pl.int_range(pl.len()).cast(pl.String)
    found["chunks"] = found["twice"].with_columns(doc_id=pl.col("doc_id") + "#" + part)
    return found


def make_subtopics() -> pl.DataFrame:
    """Return judgments of subtopics, with weights, of the queries and documents of the runs."""
    rng = np.random.default_rng(8)
    rows = []
    for number in range(80):
        groups = [f"g{n}" for n in range((1, 2, 3, 5)[number % 4])]
        weights = [float(rng.choice([0.5, 1.0, 2.0])) for _ in groups]
        for doc in rng.permutation(30)[: rng.integers(1, 10)]:
            for group, weight in zip(groups, weights, strict=True):
                if rng.random() < 0.6:
                    grade = int(rng.integers(-1, 4))
                    rows.append((query_name(number, "odd"), f"d{doc}", group, grade, weight))
    names = ["query_id", "doc_id", "subtopic", "relevance", "weight"]
    return pl.DataFrame(rows, schema=names, orient="row")


@cache
def folder() -> Path:
    """Return a folder that is there until the process ends."""
    held = tempfile.TemporaryDirectory(prefix="stored_cases_")
    _KEPT.append(held)
    return Path(held.name)


_KEPT: list[Any] = []


def given(value: Any) -> Any:
    """Return the table that a text "@name" stands for, in lists and dicts, too."""
    if isinstance(value, str) and value.startswith("@"):
        return tables()[value[1:]]
    if isinstance(value, Mapping):
        return {key: given(one) for key, one in value.items()}
    if isinstance(value, list):
        return [given(one) for one in value]
    return value


# ----------------------------------------------------------------------------------- as texts


def frame_text(frame: pl.DataFrame) -> str:
    """Return the columns and types of a frame in a line, and each row in another."""
    frame = frame.drop(WORDS, strict=False)
    head = ", ".join(f"{name}: {kind}" for name, kind in frame.schema.items())
    return "\n".join([head, *map(repr, frame.iter_rows())])


def ledger_text(frame: pl.DataFrame) -> str:
    """Return what was counted, and no sentences but the fingerprint of the judgments."""
    rows = frame.rows(named=True)
    lines = [
        repr((row.get("system"), row["item"], row["value"]))
        + (f" {row['note']}" if row["item"].endswith("fingerprint") else "")
        for row in rows
    ]
    return "\n".join(lines)


def text_of(name: str, value: Any) -> str:
    """Return an output as text."""
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        return ledger_text(value) if name.endswith("ledger") else frame_text(value)
    if isinstance(value, Mapping):  # an expression's repr has its address
        value = {key: str(v) if isinstance(v, pl.Expr) else v for key, v in value.items()}
    return value if isinstance(value, str) else repr(value)


def outputs_of(found: Any, *names: str) -> Outputs:
    """Return attributes of a result by name; those that are dicts as one output for each key."""
    outputs: Outputs = {}
    for name in names:
        value = getattr(found, name)
        if isinstance(value, Mapping) and all(isinstance(v, pl.DataFrame) for v in value.values()):
            outputs.update({f"{name} {key}": one for key, one in value.items()})
        elif value is not None:
            outputs[name] = value
    return outputs


# ------------------------------------------------------------------------------ calls of the API


def evaluated(truth: Any, run: Any, metrics: Any, **options: Any) -> Outputs:
    """Return all that an evaluation gives."""
    options = {key: given(value) for key, value in options.items()}
    found = rf.evaluate(given(truth), given(run), metrics, **(QUICK | options))
    return outputs_of(found, "summary", "per_query", "slices", "items", "ledger")


def agreed(a: Any, b: Any, metrics: Any, **options: Any) -> Outputs:
    """Return all that the agreement of two rankings gives."""
    found = rf.agree(given(a), given(b), metrics, **(QUICK | options))
    return outputs_of(found, "summary", "per_query", "ledger")


def compared(metrics: Any, systems: Any = None, truth: Any = "@truth", **options: Any) -> Outputs:
    """Return all that a comparison gives."""
    systems = given(systems or {"a": "@a", "b": "@b", "c": "@c"})
    options = {key: given(value) for key, value in options.items()}
    fast: dict[str, Any] = {**QUICK, "permutations": 200}
    found = rf.compare(given(truth), systems, metrics, **(fast | options))
    return outputs_of(found, "table", "systems", "per_query", "ledger")


def gated(rules: Any, run: str = "@b", baseline: str = "@a", **options: Any) -> Outputs:
    """Return the verdict of a gate, without its words."""
    options = {key: given(value) for key, value in options.items()}
    main = rf.evaluate(given("@truth"), given(baseline), ["ndcg@10", "map", "mrr@10", "lag"])
    found = rf.gate(given("@truth"), given(run), main, rules, **options)
    return outputs_of(found, "status", "exit_code", "checks")


def differed(**options: Any) -> Outputs:
    """Return what two runs differ in."""
    options = {key: given(value) for key, value in options.items()}
    found = rf.diff(given("@truth"), given("@a"), given("@b"), **options)
    return outputs_of(found, "summary", "per_query", "movers", "documents", "k")


def fused(method: Any, runs: Any = None, **options: Any) -> Outputs:
    """Return a fused run."""
    options = {key: given(value) for key, value in options.items()}
    runs = given(runs or {"a": "@a", "b": "@b", "c": "@c"})
    return {"run": rf.fuse(runs, method, **options)}


def tuned(methods: Any, **options: Any) -> Outputs:
    """Return what a search for the best fusion finds."""
    options = QUICK | {"folds": 3, "permutations": 200, "missing": "zero"} | options
    options = {key: given(value) for key, value in options.items()}
    found = rf.tune(given("@truth"), given({"a": "@a", "b": "@b"}), methods, **options)
    parts = ("candidates", "against", "folds", "runs", "per_query", "ledger", "best")
    return outputs_of(found, *parts)


def curved(kind: Any, **options: Any) -> Outputs:
    """Return the points of a curve, thinned as well, and the area under it where it has one."""
    options = {key: given(value) for key, value in options.items()}
    points = rf.curve(given("@truth"), given("@a"), kind, **options)
    outputs: Outputs = {"points": points}
    if kind in ("roc", "precision_recall") and not options:
        outputs["area"] = rf.area_under(points)
        outputs["thin"] = rf.downsample_curve(points, 20)
        if kind == "roc":
            outputs["area to 0.2"] = rf.area_under(points, max_fpr=0.2)
    return outputs


def framed(function: str, *sources: Any, by: tuple[str, ...] = (), **options: Any) -> Outputs:
    """Return the frame that a function of the API gives, in the order of its keys."""
    options = {key: given(value) for key, value in options.items()}
    frame = getattr(rf, function)(*map(given, sources), **options).collect()
    return {"frame": frame.sort(by or ("query_id", "doc_id"), maintain_order=True)}


def from_python(which: str) -> Outputs:
    """Return what the functions that turn Python objects into frames give."""
    lists = [["A", "B", "C"], ["D", "A", "B"], ["C", "D"], ["B"]]
    if which == "lists":
        pair = rf.from_lists(lists, {"A", "B"})
    elif which == "lists by query":
        truth = {"x": {"A"}, "y": {"C", "D"}, "z": {"B"}}
        pair = rf.from_lists(dict(zip("xyzw", lists, strict=True)), truth)
    elif which == "lists with scores":
        scores = [[3.0, 1.0, 2.0], [0.5, 0.5, 0.1], [2.0, 2.5], [1.0]]
        pair = rf.from_lists(lists, [{"A"}, {"B"}, {"C"}, {"B"}], scores=scores)
    elif which == "relevance":
        pair = rf.from_relevance([[0, 0, 1, 0], [1, None], [3, 2, 0, 1]], total=[2, 1, 4])
    else:
        rng = np.random.default_rng(5)
        ids, scores = (
            rng.permuted(np.tile(np.arange(30), (20, 1)), axis=1)[:, :8],
            rng.random((20, 8)),
        )
        options: Any = {"items": [f"d{n}" for n in range(30)]} if which == "topk named" else {}
        if which == "topk distance":
            options = {"smaller_is_better": True, "queries": [f"q{n:04}" for n in range(20)]}
        return {"run": rf.from_topk(ids, None if which == "topk ids" else scores, **options)}
    # judgments stand in the order of sets, which is another one in each process
    outputs: Outputs = {"qrels": pair[0].sort("query_id", "doc_id"), "run": pair[1]}
    found = rf.evaluate(*pair, ["map(denominator=retrieved)", "lag(average=micro)", "ndcg"])
    return outputs | outputs_of(found, "summary", "per_query")


def command(*words: str, reads: str | None = None) -> Outputs:
    """Return the exit code and output of the command line, and the file that it writes."""
    from rankframe.cli import main

    files = written()
    told = [str(files[word[1:]]) if word.startswith("@") else word for word in words]
    target = folder() / (reads or "")
    if reads is not None:
        told = [str(target) if word == "OUT" else word for word in told]
    raw, before, hook = io.BytesIO(), sys.argv, sys.unraisablehook
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    sys.argv = ["rankframe", *told]
    code: Any = None
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.argv, sys.unraisablehook = before, hook
    outputs: Outputs = {"code": code, "stdout": raw.getvalue().decode()}
    if reads is not None:
        is_parquet = reads.endswith(".parquet")
        outputs["file"] = pl.read_parquet(target) if is_parquet else target.read_text()
    return outputs


def stored(which: str) -> Outputs:
    """Return what stored results give when they are read, compared, gated and put in a row."""
    places = {}
    for name in ("a", "b", "d"):
        places[name] = folder() / f"stored-{name}"
        if not places[name].exists():
            missing: Any = "skip" if name == "d" else "zero"
            metrics = ["ndcg@10", "map", "lag"]
            rf.evaluate(
                given("@truth"), given(f"@{name}"), metrics, missing=missing,
                output=places[name], **QUICK,
            )  # fmt: skip
    both: Any = {"a": places["a"], "b": places["b"]}
    if which == "read":
        return outputs_of(rf.Result.read(places["a"]), "summary", "per_query", "ledger")
    if which == "history":
        return {"frame": rf.history({**both, "d": places["d"]}, order="given")}
    if which == "compare":
        return compared(None, both, None)
    if which == "gate":
        rules = ["ndcg@10: no worse than -1% at 95%", "lag: at most 9"]
        found = rf.gate(None, places["b"], places["a"], rules)
        return outputs_of(found, "status", "exit_code", "checks")
    # unpaired: queries that one result lacks
    mine = [pl.read_parquet(places[name] / "per_query.parquet") for name in ("a", "b")]
    pair = {"a": mine[0], "b": mine[1].filter(pl.col("query_id") > "q0030")}
    return compared(None, pair, None, unpaired=which.removeprefix("unpaired "))


# ------------------------------------------------------------------------------------- the cases

# Each metric with its default parameters, cutoffs and others: a line is a case.
JUDGED = """
judged judged@1 judged@10
unjudged unjudged@1 unjudged@10
num_retrieved
num_relevant num_relevant(rel=2)
num_relevant_retrieved num_relevant_retrieved(rel=2)
num_nonrelevant_judged_retrieved num_nonrelevant_judged_retrieved(rel=3)
cg cg@1 cg@10 cg(gain=exp2)@5 cg(min_grade=2)@5
ncg ncg@10 ncg(gain=exp2)@5 ncg(ideal=retrieved)@5
dcg dcg@1 dcg@10 dcg(gain=exp2)@10 dcg(discount=ln)@10 dcg(discount=jarvelin)@10 \
    dcg(discount=jarvelin,base=3)@10 dcg(min_grade=2)
ideal_dcg ideal_dcg@10 ideal_dcg(gain=exp2)@5
ndcg ndcg@1 ndcg@10 ndcg(gain=exp2)@10 ndcg(ideal=retrieved)@10 \
    ndcg(discount=jarvelin,base=3)@10 ndcg(min_grade=1)
err err@10 err(max_grade=4)@5
nerr nerr@10 nerr(max_grade=4)@5
r_score r_score(half_life=2) r_score(neutral=1)
rbp rbp@10 rbp(p=0.5) rbp(gain=linear) rbp(gain=exp2,max_grade=4)@5 rbp(rel=2)
rbp_residual rbp_residual(p=0.5)
hits hits@1 hits@10 hits(rel=2)@5
hit_rate hit_rate@1 hit_rate@10 success@5 hit_rate(rel=2)@5
precision precision@1 precision@5,10 precision(denominator=retrieved)@10 precision(rel=2)@5
recall recall@1 recall@10 recall(rel=3)@10
f1 f1@10 f1(rel=2)@5
f f(beta=2)@10 f(beta=0.5,rel=2)@5
r_precision r_precision(multiple=2) r_precision(rel=2)
relative_precision relative_precision@10
fall_out fall_out@10 fall_out(rel=2)@5
set_precision set_precision(rel=2)
set_recall set_recall(rel=2)
set_f set_f(x=2) set_f(rel=2)
set_map set_map(rel=2)
average_precision map@10 map(denominator=retrieved)@10 map(denominator=min)@5 map(rel=2)
average_recall average_recall@10 average_recall(rel=2)@5
reciprocal_rank mrr mrr@1 mrr@10 mrr(rel=2)
bpref bpref(rel=2)
infap infap(rel=2)
iprec iprec(recall=0) iprec(recall=0.5) iprec(recall=1,rel=2)
eleven_point eleven_point(rel=2)
precision_at_recall precision_at_recall(recall=0.8)
yaap yaap(rel=2)
lag lag(missing=end) lag(rel=2)
auc auc(pool=true) auc(rel=2)
sdcg sdcg@5 sdcg(gain=exp2)@10 sdcg(max_grade=4)@5
compat compat(p=0.8) compat(normalised=false) compat(rel=2)
ndcg_rel
rndcg
bin_g bin_g(rel=2)
g_measure
utility utility(a=2,b=-0.5) utility(d=1,collection=100)
trec_rbp trec_rbp(p=0.5)
trec_rbp_resid trec_rbp_resid(p=0.5)
trec_unj trec_unj@10
ndcg_burges@10 map@5-l2 nDCG@10 P(rel=2)@5 ndcg_cut_10 P_10 gm_map
"""
GROUPED = """
alpha_dcg alpha_dcg@5 alpha_dcg(alpha=0.2)@10 alpha_dcg(norm=none)@5 alpha_dcg(rel=2)
alpha_ndcg alpha_ndcg@5 alpha_ndcg(alpha=0)@10 alpha_ndcg(alpha=1)@5 alpha_ndcg(rel=2)@5
err_ia err_ia@5 err_ia(gain=exp2)@10 err_ia(alpha=0.2)
nerr_ia nerr_ia@5 nerr_ia(alpha=0.2)@10
nrbp nrbp(alpha=0.2,beta=0.8)
nnrbp nnrbp(beta=0.8)
map_ia map_ia@5 map_ia(rel=2)
precision_ia precision_ia@5 precision_ia(rel=2)@10
ndcg_ia ndcg_ia@5 ndcg_ia(gain=exp2)@10
subtopic_recall subtopic_recall@5 subtopic_recall(rel=2)@5
any_of any_of@5 any_of(rel=2)@5
all_of all_of@5 all_of(rel=2)@5
"""
SHOWN = """
novelty novelty@5 novelty(normalised=true)@10
popularity popularity@5
long_tail long_tail@5 long_tail(head=0.5)@10
repeated repeated@5
diversity(by=genre) diversity(by=genre)@5 diversity(by=genres,kind=entropy) \
    diversity(by=genres,kind=pairs)@5
ild(vector=vector) ild(vector=vector)@5
unexpectedness unexpectedness@5
calibration(by=genre) calibration(by=genres)@5
exposure_share(by=genre,value=x) exposure_share(by=genres,value=y)@5
serendipity serendipity@5 serendipity(rel=2)@5
epc epc@5 epc(discount=none)@5 epc(rel=2)
efd efd@5 efd(discount=none)@5 efd(rel=2)
"""
CATALOGUE = """
coverage coverage@5 coverage(count=true)@2
gini gini@5 gini(over=retrieved)@5
entropy entropy@5
personalisation@2 personalisation@5
exposure_gap(by=genre)@5 exposure_gap(by=genres,target=train)@5
"""
AGREEMENT = """
overlap overlap@1 overlap@10
jaccard jaccard@5
average_overlap average_overlap@5 average_overlap@10
rbo rbo@5 rbo(p=0.8) rbo(ties=a) rbo(ties=b) rbo(ties=w) rbo(ties=mean)
rbo_ext rbo_ext@5 rbo_ext(p=0.8,ties=w) rbo_ext(ties=a)@10
rbd rbd(p=0.8) rbd(ties=a)
rbo_min rbo_min@5 rbo_min(p=0.8,ties=b)
rbo_res rbo_res@5 rbo_res(p=0.8,ties=w)
kendall_tau kendall_tau@10 kendall_tau(variant=a) kendall_tau(variant=c)@10
tau_ap tau_ap@10
spearman spearman@10
pearson pearson@10
ndpm ndpm@10
fcp fcp@10 fcp(ties=discordant) fcp(ties=ignore)
"""
BESIDE = {"train": "@train", "items": "@items", "reference": "@b"}
SEVERAL = ["ndcg@10", "map", "mrr@10", "precision@1,5", "recall(rel=2)@10", "lag", "bpref", "err"]
AVERAGES = [
    f"{name}(average={average})@10"
    for name in ("ndcg", "recall")
    for average in ("macro", "weighted", "geometric", "sum", "median", "min", "quantile(q=0.1)")
]
GAPS = ["ndcg@10", "gap(ndcg@10, by=device)", "gap(mrr@10, by=locale, kind=mean)"]
OWN = [
    ((pl.col("rank") <= 3) & pl.col("relevant")).any().alias("top3"),
    pl.col("relevance").filter(pl.col("rank") <= 5).sum().alias("sum5"),
]
OWN_SHOWN = pl.col("price").filter(pl.col("rank") <= 5).sum().alias("price5")
UNIT = pl.col("doc_id").str.split("#").list.first()

# Options of an evaluation, with the run that they are of where it is not "a".
POLICIES: list[dict[str, Any]] = [
    {"rel": 2}, {"rel": 0}, {"rel": 1.5},
    {"missing": "skip"}, {"missing": "zero"}, {"missing": "error"},
    {"no_relevant": "skip"}, {"no_relevant": "zero"}, {"missing": "skip", "no_relevant": "skip"},
    {"order": "rows"}, {"order": "rows", "run": "@ranked"}, {"run": "@ranked"},
    {"ranks": "kept", "run": "@ranked"}, {"ranks": "kept", "run": "@ranked", "judged_only": True},
    {"ties": "doc_asc"}, {"ties": "doc_desc"}, {"ties": "as_given"},
    {"run": "@twice"}, {"run": "@twice", "duplicates": "keep_best"},
    {"run": "@twice", "duplicates": "keep_best", "k_max": 3},
    {"k_max": 1}, {"k_max": 5}, {"k_max": 5, "judged_only": True}, {"judged_only": True},
    {"run": "@chunks", "unit": UNIT}, {"run": "@chunks", "unit": UNIT, "unit_ranks": "kept"},
    {"run": "@chunks", "unit": UNIT, "k_max": 5},
    {"train": "@train", "exclude_seen": True},
    {"queries": "@queries", "by": "locale"}, {"queries": "@known", "by": ["locale", "device"]},
    {"queries": "@queries", "by": [("locale", "device")], "ci": "t"},
    {"ci": None}, {"ci": "t"}, {"ci": "bootstrap"}, {"ci": "t", "confidence": 0.8},
    {"ci": "bootstrap", "confidence": 0.99, "replicates": 300}, {"seed": 7}, {"seed": -1},
    {"max_memory": 1}, {"max_memory": "4GB"},
]  # fmt: skip
SHOWN_POLICIES: list[dict[str, Any]] = [
    {"items_by": "genre"}, {"items_by": ["genre", "popularity"]}, {"items_by": "popularity"},
    {"exclude_seen": True}, {"catalogue": "@items"}, {"queries": "@queries", "by": "locale"},
    {"k_max": 3}, {"judged_only": True}, {"max_memory": 1}, {"ci": "t"}, {"rel": 2},
    {"items_by": "genre", "queries": "@queries", "by": "device", "max_memory": 1},
]  # fmt: skip
SHOWN_SOME = [
    "ndcg@10", "coverage@10", "gini@5", "novelty@5", "long_tail@10", "diversity(by=genre)@5",
    "serendipity@5", "unexpectedness@5", "epc@5", "personalisation@5",
]  # fmt: skip
AGREE_OPTIONS: list[dict[str, Any]] = [
    {"missing": "bottom"}, {"unmatched_queries": "skip"}, {"ties": "doc_asc"}, {"ties": "as_given"},
    {"k_max": 5}, {"order": "rows"}, {"ci": None}, {"ci": "t"}, {"max_memory": 1}, {"seed": 3},
    {"missing": "bottom", "unmatched_queries": "skip", "k_max": 4}, {"confidence": 0.8},
]  # fmt: skip
AGREE_SOME = ["rbo", "overlap@5", "kendall_tau", "spearman", "pearson", "tau_ap", "fcp", "ndpm"]
COMPARISONS: list[dict[str, Any]] = [
    *({"test": test} for test in ("t", "wilcoxon", "sign", "randomisation", "tukey")),
    *({"correction": way} for way in ("holm", "bonferroni", "bh", "none")),
    {"baseline": "a"}, {"baseline": "b", "test": "wilcoxon"}, {"bounds": True},
    {"queries": "@queries", "by": ["locale", ("locale", "device")]},
    {"queries": "@queries", "by": "device", "test": "randomisation"},
    {"missing": "skip"}, {"missing": "skip", "unpaired": "skip"}, {"missing": "error"},
    {"missing": "skip", "unpaired": "zero"}, {"missing": "zero"}, {"no_relevant": "skip"},
    {"ci": "t"}, {"ci": None}, {"confidence": 0.8, "seed": 4}, {"rel": 2}, {"k_max": 3},
    {"judged_only": True}, {"ties": "doc_asc"}, {"max_memory": 1},
]  # fmt: skip
RULES: dict[str, Any] = {
    "no worse": ["ndcg@10: no worse than -0.5% at 95%"],
    "no worse, absolute": ["ndcg@10: no worse than -0.05 at 90%", "map: no worse than -0.2 at 99%"],
    "better": ["ndcg@10: better than 1% at 95%"],
    "floor and ceiling": ["mrr@10: at least 0.1", "lag: at most 3", "map: at least 0.99"],
    "where both are defined": ["lag: no worse than -5% at 95% where both are defined"],
    "undefined": ["lag: no worse than -5% at 95%"],
    "several": ["ndcg@10: no worse than -90% at 95%", "map: at least 0.01"],
}
METHODS = [
    "min", "max", "med", "sum", "anz", "mnz", "gmnz(gamma=0.5)", "wsum(weights=[.2,.3,.5])",
    "wmnz(weights=[.2,.3,.5])", "mixed(weights=[.2,.3,.5])", "rrf", "rrf(k=10)", "rbc(phi=0.8)",
    "isr", "log_isr", "logn_isr", "logn_isr(sigma=0.1)", "bordafuse",
    "w_bordafuse(weights=[.2,.3,.5])", "condorcet", "w_condorcet(weights=[.2,.3,.5])",
]  # fmt: skip
TRAINED = [
    "mapfuse", "posfuse", "slidefuse(window=3)", "probfuse(segments=5)", "segfuse", "bayesfuse",
]  # fmt: skip
NORMS = ("none", "min_max", "min_max_inverted", "max", "sum", "zmuv", "rank", "borda")
CURVES: list[tuple[str, dict[str, Any]]] = [
    ("roc", {}), ("roc", {"average": "vertical"}), ("roc", {"per_query": True}),
    ("roc", {"by": "device", "queries": "@queries"}), ("roc", {"rel": 2}),
    ("roc", {"scores": "distance"}), ("precision_recall", {}),
    ("precision_recall", {"interpolated": True}), ("precision_recall", {"recall_of": "retrieved"}),
    ("precision_recall", {"interpolated": True, "ci": "bootstrap", "replicates": 100}),
    ("precision_recall", {"per_query": True}), ("metric_at_k", {}),
    ("metric_at_k", {"metric": "recall", "ks": [1, 3, 10]}),
    ("metric_at_k", {"metric": "map", "ci": "t"}), ("metric_at_k", {"ci": "bootstrap"}),
    ("metric_at_k", {"by": "locale", "queries": "@queries"}), ("metric_at_k", {"per_query": True}),
    ("cumulative_gain", {}), ("cumulative_gain", {"ks": [1, 5, 20]}),
    ("cumulative_gain", {"per_query": True}),
]  # fmt: skip
TREC_EVAL = (
    "", "-m all_trec", "-q", "-q -m all_trec", "-c", "-q -c -m all_trec", "-l 2",
    "-l 2 -m all_trec",
    "-J", "-J -q -m official", "-M 5 -m official", "-n -q", "-m P.5,10 -m ndcg_cut.10", "-m set",
    "-N 1000 -m utility", "-m nosuch", "-c -J -M 10 -l 2 -q -m all_trec",
)  # fmt: skip
COMMANDS: dict[str, tuple[Any, ...]] = {
    "convert to parquet": ("convert", "@run.trec", "OUT", "--overwrite", "out.parquet"),
    "convert to trec": ("convert", "@run.parquet", "OUT", "--overwrite", "out.trec"),
    "convert to csv": ("convert", "@qrels.parquet", "OUT", "--overwrite", "out.csv"),
    "convert to jsonl": ("convert", "@qrels.trec", "OUT", "--overwrite", "out.jsonl"),
    "evaluate": ("evaluate", "@qrels.trec", "@run.trec", "-m", "ndcg@10", "--format", "csv", None),
    "compare": ("compare", "@qrels.trec", "@run.trec", "@other.trec", "--format", "csv", None),
    "agree": ("agree", "@run.trec", "@other.trec", "--format", "csv", None),
    "fuse": ("fuse", "@run.trec", "@other.trec", "-o", "OUT", "--overwrite", "fused.trec"),
}
# Calls that are refused, or may be.
ERRORS: dict[str, Case] = {
    "no such metric": partial(evaluated, "@truth", "@a", ["nosuch"]),
    "cutoff 0": partial(evaluated, "@truth", "@a", ["ndcg@0"]),
    "bad parameter": partial(evaluated, "@truth", "@a", ["ndcg(rel=2)@5"]),
    "gap of gaps": partial(evaluated, "@truth", "@a", ["gap(gap(map, by=w), by=w)"]),
    "no overlap": partial(evaluated, {"q": {"a": 1}}, {"q": {"b": 1.0}}, ["map"]),
    "no overlap, zero": partial(
        evaluated, {"q": {"a": 1}}, {"q": {"b": 1.0}}, ["map"], no_overlap="zero"
    ),
    "no shared query": partial(evaluated, {"q": {"a": 1}}, {"r": {"a": 1.0}}, ["map"]),
    "empty run": partial(evaluated, {"q": {"a": 1}}, {"q": {}}, ["map"]),
    "empty ids": partial(evaluated, {"": {"": 1}}, {"": {"": 1.0, "a": 2.0}}, ["map"]),
    "nan score": partial(evaluated, {"q": {"a": 1}}, {"q": {"a": float("nan")}}, ["map"]),
    "infinite score": partial(
        evaluated, {"q": {"a": 1}}, {"q": {"a": float("inf"), "b": float("-inf")}}, ["map"]
    ),
    "null grade": partial(evaluated, {"q": {"a": None}}, {"q": {"a": 1.0}}, ["map"]),
    "bad policy": partial(evaluated, "@truth", "@a", ["map"], missing="maybe"),
    "bad confidence": partial(evaluated, "@truth", "@a", ["map"], confidence=95),
    "no file": partial(evaluated, "/nonexistent/file.parquet", "@a", ["map"]),
    "unknown column": partial(evaluated, "@truth", "@a", ["map"], columns={"doc_id": "nosuch"}),
    "unknown attribute": partial(
        evaluated, "@truth", "@a", ["map"], queries="@queries", by="nosuch"
    ),
    "unknown fusion": partial(fused, "nosuch"),
    "fusion without judgments": partial(fused, "mapfuse"),
    "duplicates in a fusion": partial(fused, "rrf", {"a": "@twice", "b": "@b"}),
    "bad rule": partial(gated, ["ndcg@10: rather good"]),
}


def layout(which: str, order: str, max_memory: Any = None) -> Outputs:
    """Return an evaluation of the same rows in some form and order, of plain ids."""
    ids = "int" if which == "integers" else "plain"
    sides = {"truth": make_truth(ids=ids, seed=1), "run": make_run(ids=ids)}
    for name, rows in sides.items():
        arranged = rows
        if order == "sorted":
            least_last = [False, True, True]
            arranged = rows.sort("query_id", rows.columns[2], "doc_id", descending=least_last)
        elif order == "shuffled":
            arranged = rows.sample(fraction=1, shuffle=True, seed=3)
        sides[name] = held(arranged, which, folder() / f"{name}-{order}")
    metrics = ["ndcg@10", "map", "gm_map", "err", "lag", "precision(average=micro)@3", "auc"]
    return evaluated(sides["truth"], sides["run"], metrics, max_memory=max_memory)


def nested(rows: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return rows as a dict by query."""
    found: dict[str, dict[str, float]] = {}
    for query, doc, value in rows.iter_rows():
        found.setdefault(query, {})[doc] = value
    return found


def trec_text(rows: pl.DataFrame) -> str:
    """Return rows as lines of TREC."""
    if "relevance" in rows.columns:
        return "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows.iter_rows())
    return "".join(f"{q} Q0 {d} 1 {score!r} tag\n" for q, d, score in rows.iter_rows())


OBJECTS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "frame": lambda rows: rows,
    "integers": lambda rows: rows,
    "lazy": pl.DataFrame.lazy,
    "arrow": pl.DataFrame.to_arrow,
    "rows": pl.DataFrame.to_dicts,
    "lists": lambda rows: rows.group_by("query_id", maintain_order=True).agg(
        pl.exclude("query_id")
    ),
    "dict": nested,
}
TEXTS: dict[str, Callable[[pl.DataFrame], str]] = {
    "csv": lambda rows: rows.write_csv(),
    "tsv": lambda rows: rows.write_csv(separator="\t"),
    "jsonl": lambda rows: rows.write_ndjson(),
    "trec": trec_text,
}


def held(rows: pl.DataFrame, form: str, place: Path) -> Any:
    """Return rows in a form: an object, or a file at this place."""
    if form in OBJECTS:
        return OBJECTS[form](rows)
    target = Path(f"{place}.{form}")
    if form.endswith("parquet"):
        rows.write_parquet(target, row_group_size=100 if form == "groups.parquet" else None)
    else:
        content = TEXTS[form.removesuffix(".gz")](rows).encode()
        target.write_bytes(gzip.compress(content) if form.endswith(".gz") else content)
    return target


@cache
def written() -> dict[str, Path]:
    """Return files for the command line by name."""
    sides = {
        "qrels": make_truth(70, ids="plain"),
        "run": make_run(70, ids="plain"),
        "other": make_run(70, seed=4, ids="plain"),
    }
    found = {}
    for name, rows in sides.items():
        for form in ("trec", "parquet"):
            found[f"{name}.{form}"] = held(rows, form, folder() / name)
    grouped = make_subtopics().filter(~pl.col("query_id").is_in(ODD_IDS))
    lines = (
        f"{q} {g} s{i % 2} {d} {grade + 1}\n"
        for i, (q, d, g, grade, _) in enumerate(grouped.iter_rows())
    )
    found["prefs.txt"] = folder() / "prefs.txt"
    found["prefs.txt"].write_text("".join(lines))
    found["groups.txt"] = folder() / "groups.txt"
    found["groups.txt"].write_text(
        "".join(f"{q} {g} {d} {grade}\n" for q, d, g, grade, _ in grouped.iter_rows())
    )
    return found


def larger(order: str, max_memory: Any) -> Outputs:
    """Return an evaluation of an input that is read from Parquet in many pieces."""
    sides = {"truth": make_truth(1500, ids="plain"), "run": make_run(1500, ids="plain")}
    paths: list[Path] = []
    for name, rows in sides.items():
        path = folder() / f"larger-{name}-{order}.parquet"
        mixed = rows.sample(fraction=1, shuffle=True, seed=3) if order == "scattered" else rows
        mixed.write_parquet(path, row_group_size=2000)
        paths.append(path)
    found = rf.evaluate(paths[0], paths[1], SEVERAL, max_memory=max_memory, **QUICK)
    outputs = outputs_of(found, "summary", "ledger")
    return outputs | {"per_query": found.per_query.gather_every(5)}


def described(options: Mapping[str, Any]) -> str:
    """Return options as the name of a case."""
    return ", ".join(
        f"{key}={value if not isinstance(value, pl.Expr) else 'expression'}"
        for key, value in options.items()
    )


def all_cases() -> Iterator[tuple[str, Case]]:
    """Give every case by its name."""
    yield from metric_cases()
    yield from evaluation_cases()
    yield from decision_cases()
    yield from fusion_cases()
    yield from other_cases()


def metric_cases() -> Iterator[tuple[str, Case]]:
    """Give a case for each metric, and some of many at once."""
    families = (
        ("judged", JUDGED, partial(evaluated, "@truth", "@a")),
        ("grouped", GROUPED, partial(evaluated, "@subtopics", "@a")),
        ("shown", SHOWN, partial(evaluated, "@truth", "@a", **BESIDE)),
        ("catalogue", CATALOGUE, partial(evaluated, "@truth", "@a", **BESIDE)),
        ("agreement", AGREEMENT, partial(agreed, "@a", "@b")),
    )
    for family, text, call in families:
        for line in text.strip().splitlines():
            yield f"metric/{family}/{line.split()[0]}", partial(call, line.split())
        # one list of names: what several metrics share is worked out once
        yield f"metric/{family} all at once", partial(call, text.split(), ci=None)
    both = ["ndcg@10", "alpha_ndcg@5", "any_of@5", "coverage@5", "novelty@5"]
    yield "metric/all frames", partial(evaluated, "@subtopics", "@a", both, **BESIDE)
    shown = [name for name in SHOWN.split() if not name.startswith(("serendip", "ep", "ef"))]
    yield "metric/shown without judgments", partial(evaluated, None, "@a", shown, **BESIDE)


def evaluation_cases() -> Iterator[tuple[str, Case]]:
    """Give cases of averages, policies and forms of inputs."""
    weighed = {"queries": "@queries", "weight": "w"}
    micro = ["precision(average=micro)@10", "recall(average=micro)@5", "lag(average=micro)"]
    yield "average/all", partial(evaluated, "@truth", "@a", AVERAGES + micro, **weighed)
    for ci in ("t", None):
        call = partial(evaluated, "@truth", "@a", AVERAGES + micro, ci=ci, **weighed)
        yield f"average/ci {ci}", call
    sliced = {**weighed, "by": ["locale", "device"]}
    yield "average/slices", partial(evaluated, "@truth", "@a", AVERAGES + micro, **sliced)
    yield "gap/plain", partial(evaluated, "@truth", "@a", GAPS, queries="@queries")
    yield "gap/no interval", partial(evaluated, "@truth", "@a", GAPS, queries="@queries", ci=None)
    by = {"queries": "@known", "by": ["locale", ("locale", "device")]}
    yield "gap/slices", partial(evaluated, "@truth", "@a", GAPS, **by)
    pairs = make_truth().filter(pl.col("relevance") > 0).drop("relevance")
    for grade in (1, 2, 0.5):
        call = partial(evaluated, pairs, "@a", SEVERAL, relevance=grade)
        yield f"policy/relevance={grade} of pairs", call
    yield "own/beside names", partial(evaluated, "@truth", "@a", ["ndcg@10", *OWN])
    yield "own/alone", partial(evaluated, "@truth", "@a", OWN[0])
    yield "own/shown", partial(evaluated, "@truth", "@a", [OWN_SHOWN, "coverage@5"], **BESIDE)
    yield "own/metric", own_metric
    for options in POLICIES:
        rest = {key: value for key, value in options.items() if key != "run"}
        call = partial(evaluated, "@truth", options.get("run", "@a"), SEVERAL, **rest)
        yield f"policy/{described(options)}", call
        if "unit" not in options and "run" not in options and "items" not in options:
            call = partial(evaluated, "@subtopics", "@a", ["alpha_ndcg@5", "map", "any_of"], **rest)
            yield f"policy of subtopics/{described(options)}", call
    for options in SHOWN_POLICIES:
        call = partial(evaluated, "@truth", "@a", SHOWN_SOME, **(BESIDE | options))
        yield f"policy of shown/{described(options)}", call
    forms = (
        "frame", "lazy", "arrow", "rows", "dict", "lists", "integers", "csv", "csv.gz", "tsv",
        "jsonl", "jsonl.gz", "trec", "trec.gz", "parquet", "groups.parquet",
    )  # fmt: skip
    for form in forms:
        for order in ("sorted", "grouped", "shuffled"):
            yield f"layout/{form}, {order}", partial(layout, form, order)
    for form in ("frame", "lists", "groups.parquet", "csv"):
        for order in ("sorted", "shuffled"):
            yield f"layout/{form}, {order}, pieces", partial(layout, form, order, 1)
    for order in ("grouped", "scattered"):
        for limit in (None, "50kB", "200kB", "8MB"):
            yield f"larger/{order}, {limit}", partial(larger, order, limit)
    yield "stored/read", partial(stored, "read")
    yield "stored/history", partial(stored, "history")


def own_metric() -> Outputs:
    """Return what metrics of a user's own give."""
    first = rf.metric(pl.col("rank").min(), "first_rank", higher_is_better=False)
    median = rf.metric(pl.col("rank").max(), "last_rank", average="median")
    alone = rf.metric(rf.ndcg(k=5) * rf.recall(k=5), "both")
    outputs = evaluated("@truth", "@a", [first, median, alone])
    found = compared([first, alone], baseline="a")
    return outputs | {f"compare {key}": value for key, value in found.items()}


def decision_cases() -> Iterator[tuple[str, Case]]:
    """Give cases of comparisons, gates, differences and agreement."""
    metrics = ["ndcg@10", "map", "lag"]
    for options in COMPARISONS:
        yield f"compare/{described(options)}", partial(compared, metrics, **options)
    weighed: dict[str, Any] = {"queries": "@queries", "weight": "w"}
    several = ["ndcg(average=weighted)@10", "recall(average=micro)@5", "gm_map", *GAPS[1:]]
    yield "compare/averages and gaps", partial(compared, several, **weighed)
    yield (
        "compare/gaps by randomisation",
        partial(compared, several, test="randomisation", **weighed),
    )
    lacking = {"a": "@a", "d": "@d"}
    yield "compare/lacking", partial(compared, metrics, lacking)
    yield (
        "compare/lacking, skip",
        partial(compared, metrics, lacking, missing="skip", unpaired="skip"),
    )
    yield "compare/subtopics", partial(compared, ["alpha_ndcg@5", "map"], truth="@subtopics")
    yield "compare/shown", partial(compared, ["ndcg@10", "coverage@5", "novelty@5"], **BESIDE)
    for which in ("compare", "gate", "unpaired error", "unpaired skip", "unpaired zero"):
        yield f"stored/{which}", partial(stored, which)
    for name, rules in RULES.items():
        yield f"gate/{name}", partial(gated, rules)
        yield f"gate/{name}, worse run", partial(gated, rules, run="@d", missing="zero")
    per = ["ndcg@10: no worse than -2% at 95% per locale", "map: at least 0.2 per locale, device"]
    yield "gate/slices", partial(gated, per, queries="@queries", min_queries=10)
    yield "gate/few queries", partial(gated, RULES["no worse"], min_queries=5000)
    yield "gate/little judged", partial(gated, RULES["no worse"], min_judged={10: 0.9})
    yield "gate/same run", partial(gated, RULES["no worse"], run="@a")
    for options in (
        {}, {"metric": "map", "most": 5}, {"metric": "lag"}, {"k": 3}, {"worse": True},
        {"only": ["q0020", "ß ü"]}, {"missing": "skip"}, {"rel": 2, "metric": "mrr"},
        {"queries": "@queries", "weight": "w", "metric": "ndcg(average=weighted)@10"},
        {"ties": "doc_asc", "k_max": 5},
    ):  # fmt: skip
        yield f"diff/{described(options)}", partial(differed, **options)
    for options in AGREE_OPTIONS:
        yield f"agree/{described(options)}", partial(agreed, "@a", "@b", AGREE_SOME, **options)
    yield "agree/judgments first", partial(agreed, "@truth", "@a", ["fcp", "ndpm", "tau_ap"])
    yield "agree/same run", partial(agreed, "@a", "@a", AGREE_SOME)


def fusion_cases() -> Iterator[tuple[str, Case]]:
    """Give cases of fusions and of their tuning."""
    scored = METHODS[: METHODS.index("rrf")]
    for method in METHODS:
        yield f"fuse/{method}", partial(fused, method)
        for norm in NORMS if method in scored else ():
            yield f"fuse/{method}, {norm}", partial(fused, method, norm=norm, k_max=8)
    for method in TRAINED:
        yield f"fuse/{method}", partial(fused, method, qrels="@truth")
        yield f"fuse/{method}, rel=2", partial(fused, method, qrels="@truth", rel=2, k_max=5)
    for options in (
        {"depth": 5}, {"k_max": 3}, {"ties": "doc_asc"}, {"ties": "as_given"}, {"order": "rows"},
        {"max_memory": 1}, {"depth": 4, "k_max": 4},
    ):  # fmt: skip
        yield f"fuse/rrf, {described(options)}", partial(fused, "rrf", **options)
        yield (
            f"fuse/wsum, {described(options)}",
            partial(fused, "wsum", weights={"a": 0.5, "c": 0.3, "b": 0.2}, **options),
        )
    twice = {"a": "@twice", "b": "@b"}
    yield "fuse/duplicates", partial(fused, "rrf", twice, duplicates="keep_best")
    yield "fuse/ranks", partial(fused, "isr", {"a": "@ranked", "b": "@sparse"}, ranks="kept")
    chunks = {"a": "@chunks", "b": "@b"}
    yield "fuse/unit", partial(fused, "mnz", chunks, unit=UNIT)
    yield "fuse/unit, gaps kept", partial(fused, "rrf", chunks, unit=UNIT, unit_ranks="kept")
    own = (pl.col("normalised") / pl.col("rank").sqrt()).sum().alias("by root")
    yield "fuse/own", partial(fused, own)
    yield "tune/rrf", partial(tuned, ["rrf"], grid={"k": [1, 60]})
    yield "tune/both", partial(tuned, ["rrf(k=60)", "wsum"], grid={"weights": 0.25})
    yield (
        "tune/norms",
        partial(
            tuned, ["wsum"], norms=["min_max", "zmuv"], grid={"weights": 0.5}, metric="map", seed=3
        ),
    )
    yield "tune/trained", partial(tuned, ["mapfuse", "isr", own], test="wilcoxon", depth=10)
    yield "tune/search", partial(tuned, ["wsum"], grid={"weights": 0.01}, budget=12)
    yield "tune/weighted", partial(
        tuned, ["rrf(k=60)", "isr"], metric="ndcg(average=weighted)@10", queries="@queries",
        weight="w",
    )  # fmt: skip


def other_cases() -> Iterator[tuple[str, Case]]:
    """Give cases of frames, curves, Python objects, the command line, and refusals."""
    for options in (
        {}, {"rel": 2}, {"k_max": 5}, {"judged_only": True}, {"ties": "doc_asc"},
        {"levels": [2.0, 3.0]}, {"cutoffs": [1, 5]},
    ):  # fmt: skip
        yield f"judge/{described(options)}", partial(framed, "judge", "@truth", "@a", **options)
    for options in ({"subtopics": True}, {"subtopics": True, "alphas": [0.5], "cutoffs": [5]}):
        call = partial(framed, "judge", "@subtopics", "@a", **options)
        yield f"judge/{described(options)}", call
    yield "judge/kept ranks", partial(framed, "judge", "@truth", "@ranked", ranks="kept")
    yield "judge/unit", partial(framed, "judge", "@truth", "@chunks", unit=UNIT, unit_ranks="kept")
    for options in ({}, {"missing": "bottom"}, {"k_max": 3}, {"cutoffs": [1, 5]}):
        yield f"pair/{described(options)}", partial(framed, "pair", "@a", "@b", **options)
    yield "shown/judged", partial(framed, "retrieved", "@a", "@truth", k=5, **BESIDE)
    yield "shown/alone", partial(framed, "retrieved", "@a", **BESIDE)
    seen: dict[str, Any] = {**BESIDE, "exclude_seen": True}
    yield "shown/unseen", partial(framed, "retrieved", "@a", "@truth", **seen)
    yield "shown/plain", partial(framed, "retrieved", "@a")
    known: dict[str, Any] = {"train": "@train", "items": "@items"}
    yield "documents/plain", partial(framed, "exposure", "@a", by=("doc_id",))
    yield "documents/top 5", partial(framed, "exposure", "@a", by=("doc_id",), k=5, **known)
    runs = {"a": "@a", "b": "@b"}
    for norm in NORMS:
        call = partial(framed, "stack", runs, by=("query_id", "doc_id", "run"), norm=norm)
        yield f"stacked/{norm}", call
    for kind, options in CURVES:
        yield f"curve/{kind} {described(options)}", partial(curved, kind, **options)
    for which in (
        "lists", "lists by query", "lists with scores", "relevance",
        "topk", "topk ids", "topk named", "topk distance",
    ):  # fmt: skip
        yield f"from/{which}", partial(from_python, which)
    yield "rbo/weights", rbo_weights
    for words in TREC_EVAL:
        call = partial(command, "trec_eval", *words.split(), "@qrels.trec", "@run.trec")
        yield f"trec_eval/{words}", call
    for words in ("-R prefs", "-R prefs -q -m all_prefs", "-R prefs -m prefs"):
        call = partial(command, "trec_eval", *words.split(), "@prefs.txt", "@run.trec")
        yield f"trec_eval/{words}", call
    for words in ("-R qrels_jg -q", "-R qrels_prefs -q -m prefs"):
        call = partial(command, "trec_eval", *words.split(), "@groups.txt", "@run.trec")
        yield f"trec_eval/{words}", call
    for name, (*told, reads) in COMMANDS.items():
        yield f"command/{name}", partial(command, *told, reads=reads)
    for name, call in ERRORS.items():
        yield f"refused/{name}", call


def rbo_weights() -> Outputs:
    """Return the weights of depths in RBO."""
    depths = (1, 2, 10, 100)
    return {
        "top": [rf.rbo_weight(p=p, d=d) for p in (0.5, 0.9, 0.98) for d in depths],
        "rank": [rf.rbo_weight(p=p, d=d, single=True) for p in (0.5, 0.9, 0.98) for d in depths],
        "p": [rf.rbo_p(weight=w, d=d) for w in (0.5, 0.95) for d in depths[1:]],
    }


# ---------------------------------------------------------------------------------- run and check


def run_case(call: Case) -> dict[str, str]:
    """Return the outputs of a case as texts; of a case that raises, the name of the error."""
    try:
        return {name: text_of(name, value) for name, value in call().items()}
    except Exception as error:  # noqa: BLE001 (one case is not to stop the others)
        if os.environ.get("STORED_CASES_ERRORS"):
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return {"error": type(error).__name__}


def run_all(only: str) -> dict[str, dict[str, str]]:
    """Return the outputs of all cases whose names have this in them."""
    found: dict[str, dict[str, str]] = {}
    for name, call in all_cases():
        if name in found:
            raise ValueError(f"two cases are called {name!r}")
        if only in name:
            found[name] = run_case(call)
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Give what differs between the outputs of a case, with the first line that does."""
    for output in sorted({*before, *now}):
        if before.get(output) == now.get(output):
            continue
        sides = (before.get(output), now.get(output))
        lines = [["(no such output)"] if side is None else side.split("\n") for side in sides]
        for number, (old, new) in enumerate(zip_longest(*lines, fillvalue="(no such line)"), 1):
            if old != new:
                yield f"{output}, line {number}\n  before: {old[:600]}\n  now:    {new[:600]}"
                break


def main() -> int:
    """Run the cases, and return 1 if any differs from what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    asked = parser.parse_args()
    os.environ["COLUMNS"] = "100"
    before = json.loads(asked.file.read_text()) if asked.action == "check" else {}
    found = run_all(asked.only)
    outputs = sum(map(len, found.values()))
    print(f"{len(found)} cases, {outputs} outputs, {time.process_time():.1f} s of CPU time")
    if asked.action == "write":
        asked.file.write_text(json.dumps(found, indent=1, ensure_ascii=False))
        for name, texts in found.items():
            if "error" in texts:
                print(f"raises {texts['error']}: {name}")
        return 0
    differing = 0
    for name in [name for name in {**before, **found} if asked.only in name]:
        if name not in found or name not in before:
            differing += 1
            print(f"{name}: {'gone' if name in before else 'not stored'}")
            continue
        said = list(differences(before[name], found[name]))
        differing += bool(said)
        for one in said:
            print(f"{name}: {one}")
    print(f"{differing} cases differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
