"""`rankframe compare`: differences between systems; `rankframe diff`: what changed between two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rankframe.cli import flags
from rankframe.cli.inputs import open_inputs
from rankframe.cli.options import Argument, Flag, Given, takes
from rankframe.cli.outputs import Output, check_outputs
from rankframe.core.errors import OptionError
from rankframe.core.options import Comparing, Intervals, Policies, SharedPolicies, Storage


@takes(
    flags.QRELS_AND_RUNS,
    Flag("stored", bool), flags.METRICS, flags.BASELINE, Flag("bounds", bool),
    SharedPolicies, Comparing, Intervals, Storage,
    flags.COLUMNS, flags.MAX_MEMORY, flags.LOWER_IS_BETTER, flags.QUERIES, flags.BY, flags.WEIGHT,
    output=(flags.formats("table", "json", "csv", "markdown", "latex"), *flags.RESULT),
)  # fmt: skip
def compare(sources: list[str], *, stored: bool, out: Output, how: Given) -> None:
    """Compare runs over the same queries: differences, intervals and significance tests.

    Flags:
        stored: All arguments are stored results or per-query files, without judgments.
        bounds: Also show bounds of the values, given the unjudged documents.

    Examples:
      rankframe compare qrels.parquet bm25.parquet dense.parquet --baseline bm25

      rankframe compare qrels.parquet old=bm25.parquet new=hybrid.parquet \\
        -m ndcg@10 -m map --format markdown

      rankframe compare qrels.parquet bm25.parquet dense.parquet hybrid.parquet \\
        -m ndcg@10 --test tukey --format latex

      rankframe compare qrels.parquet bm25.parquet dense.parquet -m mrr@10 \\
        --queries queries.parquet --by locale

      rankframe compare --stored results/bm25 results/dense --test randomisation
    """
    import rankframe as rf
    from rankframe.analysis.comparison import COMPARISON_FILES
    from rankframe.present.terminal import analysis_tables as show

    qrels, runs = (None, sources) if stored else (sources[0], sources[1:])
    judgments, systems = open_inputs(qrels, runs)
    out.refuse_taken([judgments, *systems.values(), how.get("queries")], COMPARISON_FILES)
    with out.progress("comparing") as report:
        found = rf.compare(judgments, systems, progress=report, **how)
    out.warn(found.caveats)
    bounds = [show.bounds_table(found)] if how["bounds"] else []
    out.deliver(
        found,
        lambda: show.comparison_text(found, out.style),
        lambda width: [show.comparison_table(found, width), *bounds],
    )


@takes(
    flags.QRELS,
    Argument("a", str, "A"), Argument("b", str, "B"), flags.METRICS,
    Flag("k", int | None, typed="-k"),
    Flag("most", int, default=5), Flag("only", list[str] | None, "ID"), Flag("worse", bool),
    replace(flags.QUERIES, panel=None), replace(flags.WEIGHT, panel=None),
    Policies, Storage, flags.COLUMNS, flags.QUERY_TEXT, flags.TITLES,
    output=(
        flags.formats("table", "json", "csv"),
        flags.PER_QUERY, Flag("documents", Path | None), flags.QUIET,
    ),
)  # fmt: skip
def diff(
    qrels: str,
    a: str,
    b: str,
    *,
    metrics: list[str] | None,
    documents: Path | None,
    out: Output,
    how: Given,
) -> None:
    """Show what changed between two runs: the queries that moved most, and their documents.

    Flags:
        a: The run before; NAME=A names it.
        b: The run after; NAME=B names it.
        metrics: One metric (default: ndcg@10).
        k: Look at the top N (default: the metric's cutoff, or 10).
        most: Number of queries to show.
        only: Show this query (repeatable).
        worse: Only queries that got worse, the worst first.
        queries: A table of queries: query_id, and attributes to show.
        weight: Attribute with the weight of each change, such as traffic.
        per_query: Write the change of every query to this file.
        documents: Write the documents of the shown queries to this file.

    Examples:
      rankframe diff qrels.parquet old=bm25.parquet new=dense.parquet -m ndcg@10

      rankframe diff qrels.parquet bm25.parquet dense.parquet \\
        --query q0017 --query q0018 -k 20

      rankframe diff qrels.parquet bm25.parquet dense.parquet --worse \\
        --queries queries.parquet --weight traffic --titles products.parquet
    """
    import rankframe as rf
    from rankframe.io.outputs import write_frame
    from rankframe.present.terminal import analysis_tables as show

    metrics = metrics or ["ndcg@10"]
    if len(metrics) > 1:
        raise OptionError(f"-m is taken once here, not {len(metrics)} times: {', '.join(metrics)}.")
    judgments, runs = open_inputs(qrels, [a, b])
    before, after = runs.values()
    tables = [how.get(name) for name in ("queries", "query_text", "titles")]
    check_outputs([judgments, before, after, *tables], tables=[out.per_query, documents])
    with out.progress("comparing"):
        found = rf.diff(judgments, before, after, metrics[0], names=list(runs), **how)
    out.warn(found.caveats)
    for target, name in ((out.per_query, "per_query"), (documents, "documents")):
        if target:
            about = {"frame": name, "metrics": found.summary["metric"].to_list(), "k": found.k}
            write_frame(getattr(found, name), target, about)
    out.print(lambda: show.diff_text(found, style=out.style), lambda _: [show.diff_tables(found)])
