"""`rankframe evaluate`: runs against judgments."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankframe.cli.options import (
    BY,
    COLUMNS,
    ITEMS_BY,
    MAX_MEMORY,
    QUERIES,
    WEIGHT,
    Folder,
    Given,
    Ledger,
    Metrics,
    Overwrite,
    PerQuery,
    Qrels,
    Quiet,
    Runs,
    Style,
    Summary,
    spark_option,
    takes,
)
from rankframe.cli.support import (
    check_outputs,
    check_tables,
    deliver,
    open_inputs,
    progress_bar,
    runs_by_name,
)
from rankframe.core.errors import OptionError
from rankframe.core.options import Intervals, Policies, Storage
from rankframe.core.wording import naming_the_run

if TYPE_CHECKING:
    from rankframe.engine.result import Result

EXAMPLES = """
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


@takes(
    Policies, Intervals, Storage,
    shared=(COLUMNS, MAX_MEMORY, QUERIES, BY, WEIGHT, ITEMS_BY),
)  # fmt: skip
def evaluate(
    qrels: Qrels,
    runs: Runs,
    *,
    metric: Metrics = None,
    style: Style = "table",
    per_query: PerQuery = None,
    summary: Summary = None,
    output: Folder = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    how: Given,
    engine: Annotated[
        Literal["polars", "spark"],
        spark_option(help="On this machine, or on Spark (needs the extra)."),
    ] = "polars",
    master: Annotated[
        str | None,
        spark_option(metavar="URL", help="Spark master (default: local, or that of spark-submit)."),
    ] = None,
    partitions: Annotated[
        int | None,
        spark_option(help="Number of Spark partitions (default: about one million rows each)."),
    ] = None,
) -> None:
    """Evaluate runs against judgments: the judgments first, then any number of runs.

    With several runs, --output has a folder for each.
    """
    import rankframe as rf
    from rankframe.engine.prepare import RUN_FRAMES
    from rankframe.engine.result import RESULT_FILES
    from rankframe.io.output_paths import refuse_taken, safe_names
    from rankframe.io.outputs import fresh_folders
    from rankframe.io.remote import is_address
    from rankframe.metrics.names import resolve

    check_tables(per_query, summary)
    metrics = metric or list(rf.DEFAULT_METRICS)
    resolved = resolve(metrics, *RUN_FRAMES, "gap", any_average=True)
    judgments, systems = open_inputs(qrels, runs, here=engine != "spark")
    names = list(systems)
    folders = dict(zip(names, safe_names(names), strict=True)) if len(names) > 1 else {}
    where = {name: output and output / folders.get(name, "") for name in names}
    elsewhere = output is None or (engine == "spark" and is_address(output))
    sources = [judgments, *systems.values(), how["queries"]]
    check_outputs(sources, per_query, summary, folder=None if elsewhere else output)
    results: dict[str, Result] = {}
    if engine == "spark":
        here_only = {"--max-memory": "max_memory", "--storage-option": "storage_options"}
        _refuse_without(engine, {flag: how[name] for flag, name in here_only.items()})
        options = {name: how[name] for name in how if name not in here_only.values()}
        results = _on_spark(
            judgments and qrels, runs_by_name(runs, here=False), metrics, options, where,
            overwrite=overwrite, master=master, partitions=partitions, values=per_query is not None,
            quiet=quiet,
        )  # fmt: skip
        deliver(results, resolved, style, per_query, summary, ledger=ledger)
        return
    _refuse_without(engine, {"--master": master, "--partitions": partitions})
    if output is not None and not folders:
        refuse_taken(output, RESULT_FILES, overwrite=overwrite)
    with ExitStack() as stack:
        into = where
        if output is not None and folders:
            taken = fresh_folders(output, folders.values(), RESULT_FILES, overwrite=overwrite)
            fresh = stack.enter_context(taken)
            into = {name: fresh / folder for name, folder in folders.items()}
        for number, (name, run) in enumerate(systems.items(), start=1):
            with (
                progress_bar(f"{name} ({number} of {len(names)})", quiet=quiet) as report,
                naming_the_run(repr(name) if len(names) > 1 else ""),
            ):
                results[name] = rf.evaluate(
                    judgments,
                    run,
                    metrics,
                    output=into[name],
                    overwrite=overwrite,
                    progress=report,
                    **how,
                )
    if output is not None and folders:  # what was written is in its place only now
        results = {name: rf.Result.read(output / folder) for name, folder in folders.items()}
    deliver(results, resolved, style, per_query, summary, ledger=ledger)


def _refuse_without(engine: str, options: dict[str, object]) -> None:
    """Refuse options that an engine does not have."""
    for name, value in options.items():
        if value is not None:
            raise OptionError(f"{name} has no meaning with --engine {engine}.")


def _on_spark(
    qrels: str | None,
    runs: Mapping[str, str],
    metrics: list[str],
    how: Mapping[str, Any],
    where: Mapping[str, Path | None],
    *,
    overwrite: bool,
    master: str | None,
    partitions: int | None,
    values: bool,
    quiet: bool,
) -> dict[str, Result]:
    """Evaluate each run on Spark, and write its result.

    `values`: fetch the values of each query, too.
    """
    import rankframe as rf
    from rankframe.engine.result import Result
    from rankframe.spark.result import refuse_target
    from rankframe.spark.session import load_pyspark, start_session

    load_pyspark()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    # Under spark-submit there is a master already. Here, a task that fails is tried again.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    spark = start_session(
        master or (None if submitted else "local[*,4]"),
        progress=sys.stderr.isatty() and not quiet,
        log_level="OFF",  # what matters is raised
    )
    targets = {name: _target(place) for name, place in where.items() if place is not None}
    for target in targets.values():
        refuse_target(spark, target, overwrite=overwrite)
    results: dict[str, Result] = {}
    for name, run in runs.items():
        found = rf.spark.evaluate(qrels, run, metrics, spark=spark, partitions=partitions, **how)
        if name in targets:
            found.write(targets[name], overwrite=overwrite)
        results[name] = (
            found.to_result()
            if values
            else Result(
                found.summary,
                found.no_values,
                found.ledger,
                found.slices,
                found.inputs,
                items=found.items,
            )
        )
        found.unpersist()
    return results


def _target(place: Path) -> str:
    """Restore the double slash of a URL, which a path loses."""
    return re.sub(r"^(\w\w+):/", r"\1://", str(place))
