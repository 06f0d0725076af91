"""`rankframe evaluate`: runs against judgments; `rankframe agree`: two rankings."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankframe.cli import flags
from rankframe.cli.completion import metrics_of
from rankframe.cli.inputs import open_inputs
from rankframe.cli.options import STATISTICS, Argument, Flag, Given, takes
from rankframe.cli.outputs import Output, check_outputs
from rankframe.core.errors import OptionError, naming_the_run
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, PairPolicies, Policies, Storage

if TYPE_CHECKING:
    from rankframe.engine.result import Result

_SPARK = "Spark"
_OUTPUT = (
    flags.formats("table", "json", "csv", "markdown"),
    flags.PER_QUERY, flags.SUMMARY, *flags.RESULT,
)  # fmt: skip
# Options that only one engine has.
_HERE_ONLY, _SPARK_ONLY = ("max_memory", "storage_options"), ("master", "partitions")


@takes(
    flags.QRELS, flags.RUNS, flags.METRICS, Policies, Intervals, Storage,
    flags.COLUMNS, flags.MAX_MEMORY, flags.QUERIES, flags.BY, flags.WEIGHT,
    Flag("items_by", list[str] | None, "NAME", panel=STATISTICS),
    Flag("engine", Literal["polars", "spark"], panel=_SPARK, default="polars"),
    Flag("master", str | None, "URL", panel=_SPARK),
    Flag("partitions", int | None, panel=_SPARK),
    output=_OUTPUT,
)  # fmt: skip
def evaluate(qrels: str, runs: list[str], *, engine: str, out: Output, how: Given) -> None:
    """Evaluate one or more runs against judgments.

    With several runs, --output gets a folder for each.

    Flags:
        items_by: Slice documents by this attribute of --items, or by popularity (repeatable).
        engine: Run on this machine, or on Spark (needs the extra `spark`).
        master: Spark master (default: local, or that of spark-submit).
        partitions: Number of Spark partitions (default: about one million rows each).

    Examples:
      rankframe evaluate qrels.parquet bm25.parquet -m ndcg@10 -m map

      rankframe evaluate qrels.parquet old=bm25.parquet new=dense.parquet -o results

      rankframe evaluate qrels.txt bm25.txt -m ndcg@1,5,10 --format markdown

      rankframe evaluate ratings.csv recs.parquet -m recall@20 \\
        -c query_id=shopper -c doc_id=article --rel 2

      zcat bm25.txt.gz | rankframe evaluate qrels.txt - --per-query values.parquet

      rankframe evaluate qrels.parquet bm25.parquet -m ndcg@10 \\
        --queries queries.parquet --by locale

      rankframe evaluate qrels.parquet hybrid.parquet --max-memory 3GiB -o hybrid

      rankframe evaluate qrels.parquet hybrid.parquet -m coverage@10 -m novelty@10 \\
        --train clicks.parquet --items products.parquet --items-by popularity
    """
    import rankframe as rf
    from rankframe.engine.evaluation import RUN_FRAMES
    from rankframe.io.output_paths import safe_names
    from rankframe.io.remote import is_address
    from rankframe.metrics.names import resolve

    on_spark = engine == "spark"
    for name in _HERE_ONLY if on_spark else _SPARK_ONLY:
        if name in how:
            flag = Option(name).text(flags=True)
            raise OptionError(f"{flag} has no effect with --engine {engine}.")
    resolved = resolve(how.get("metrics", rf.DEFAULT_METRICS), *RUN_FRAMES, "gap", any_average=True)
    judgments, systems = open_inputs(qrels, runs, here=not on_spark)
    names = list(systems)
    folders = dict(zip(names, safe_names(names), strict=True)) if len(names) > 1 else {}
    target = out.target
    elsewhere = on_spark and target is not None and is_address(target)
    check_outputs(
        [judgments, *systems.values(), how.get("queries")],
        tables=[out.per_query, out.summary],
        folder=None if elsewhere else target,
    )
    if on_spark:
        targets = {n: _address(target / folders.get(n, "")) for n in names} if target else {}
        results = _evaluate_on_spark(judgments, systems, how, out, targets)
    else:
        results = _evaluate_here(judgments, systems, how, out, folders)
    out.deliver_results(results, resolved)


def _evaluate_here(
    judgments: Any, systems: Mapping[str, Any], how: Given, out: Output, folders: Mapping[str, str]
) -> dict[str, Result]:
    """Evaluate each run, and write its result; with several runs, all results or none."""
    import rankframe as rf
    from rankframe.engine.result import RESULT_FILES
    from rankframe.io.outputs import fresh_folder

    results: dict[str, Result] = {}
    with ExitStack() as stack:
        places = dict.fromkeys(systems, out.target)
        if out.target is not None and folders:
            taken = fresh_folder(
                out.target, RESULT_FILES, results=folders.values(), overwrite=out.overwrite
            )
            fresh = stack.enter_context(taken)
            places = {name: fresh / folder for name, folder in folders.items()}
        for number, (name, run) in enumerate(systems.items(), start=1):
            with (
                out.progress(f"{name} ({number} of {len(systems)})") as report,
                naming_the_run(repr(name) if folders else ""),
            ):
                results[name] = rf.evaluate(
                    judgments,
                    run,
                    output=places[name],
                    overwrite=out.overwrite,
                    progress=report,
                    **how,
                )
    if out.target is not None and folders:  # what was written is in its place only now
        return {name: rf.Result.read(out.target / folder) for name, folder in folders.items()}
    return results


def _evaluate_on_spark(
    judgments: Any, systems: Mapping[str, Any], how: Given, out: Output, targets: Mapping[str, str]
) -> dict[str, Result]:
    """Evaluate each run on Spark, and write its result to its target."""
    import rankframe as rf
    from rankframe.engine.result import Result
    from rankframe.spark.result import refuse_target
    from rankframe.spark.session import load_pyspark, start_session

    load_pyspark()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    # Under spark-submit there is a master already. Here, a task that fails is tried again.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    spark = start_session(
        how.pop("master", None if submitted else "local[*,4]"),
        progress=sys.stderr.isatty() and not out.quiet,
        log_level="OFF",  # what matters is raised
    )
    for target in targets.values():
        refuse_target(spark, target, overwrite=out.overwrite)
    results: dict[str, Result] = {}
    for name, run in systems.items():
        found = rf.spark.evaluate(judgments, run, spark=spark, **how)
        if name in targets:
            found.write(targets[name], overwrite=out.overwrite)
        if out.per_query is not None:
            results[name] = found.to_result()
        else:
            parts = (found.summary, found.no_values, found.ledger, found.slices, found.inputs)
            results[name] = Result(*parts, items=found.items)
        found.unpersist()
    return results


def _address(place: Path) -> str:
    """Restore the double slash of a URL, which a path loses.

    >>> _address(Path("s3://bucket/results"))
    's3://bucket/results'
    """
    return re.sub(r"^(\w\w+):/", r"\1://", str(place))


@takes(
    Argument("a", str, "A"), Argument("b", str, "B"),
    replace(flags.METRICS, complete=metrics_of("pair")),
    PairPolicies, Intervals, Storage, flags.COLUMNS, flags.MAX_MEMORY,
    output=_OUTPUT,
)  # fmt: skip
def agree(a: str, b: str, *, out: Output, how: Given) -> None:
    """Measure how similar two rankings of the same queries are, without judgments.

    Flags:
        a: The reference ranking: a file, glob or folder, or - for stdin.
        b: Another ranking of the same queries; NAME=B names it.
        metrics: A metric, e.g. overlap@1,5,10 (repeatable); see `rankframe metrics`.

    Examples:
      rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10

      rankframe agree monday=bm25.parquet tuesday=hybrid.parquet \\
        -m "rbo(p=0.95, ties=a)" --per-query moved.parquet

      rankframe agree qrels.parquet bm25.parquet -m ndpm -m fcp

    The last one takes the judgments as the reference.
    """
    import rankframe as rf
    from rankframe.engine.agree import DEFAULT_METRICS
    from rankframe.metrics.names import resolve

    _, runs = open_inputs(None, [a, b])
    check_outputs(list(runs.values()), tables=[out.per_query, out.summary], folder=out.target)
    name = " ~ ".join(runs)
    with out.progress(name) as report:
        result = rf.agree(
            *runs.values(), output=out.target, overwrite=out.overwrite, progress=report, **how
        )
    resolved = resolve(how.get("metrics", DEFAULT_METRICS), "pair", any_average=True)
    out.deliver_results({name: result}, resolved)
