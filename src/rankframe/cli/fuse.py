"""`rankframe fuse`: several runs of the same queries into one; `rankframe tune`: the best way."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.cli import flags
from rankframe.cli.completion import methods
from rankframe.cli.inputs import open_inputs
from rankframe.cli.options import REQUIRED, Flag, Given, flags_of, takes
from rankframe.cli.outputs import Output, check_outputs
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of
from rankframe.core.options import Comparing, Intervals, SharedPolicies, Storage
from rankframe.core.wording import plain_text


@takes(
    flags.RUNS,
    Flag("method", str, "NAME", default="rrf", complete=methods), Flag("norm", str | None, "NAME"),
    Flag("weights", str | None, "X,X,..."), Flag("qrels", str | None, "FILE"),
    FusionPolicies, Storage, flags.COLUMNS, flags.MAX_MEMORY,
    output=(
        Flag("output", Path, typed="--output -o", default=REQUIRED), flags.OVERWRITE, flags.QUIET,
    ),
)  # fmt: skip
def fuse(runs: list[str], *, output: Path, out: Output, how: Given) -> None:
    """Fuse runs of the same queries into one, such as lexical and vector search.

    Flags:
        runs: Two or more runs; NAME=RUN names a run.
        method: A method, perhaps with parameters; see `rankframe fusions`.
        norm: Norm of scores, for methods that use scores (default: min_max).
        weights: Weights, in the order of runs or as NAME=X,NAME=X,...
        qrels: Judgments, for trained methods.
        output: Write the fused run to this file; its ending chooses the format.

    Examples:
      rankframe fuse bm25.parquet dense.parquet -o hybrid.parquet

      rankframe fuse bm25.parquet dense.parquet --method "rrf(k=20)" --depth 100 --k-max 10 \\
        -o hybrid.trec

      rankframe fuse words=bm25.parquet vectors=dense.parquet --method wsum --norm min_max \\
        --weights .3,.7 -o hybrid.parquet

      rankframe fuse bm25.parquet dense.parquet --method posfuse --qrels qrels.parquet \\
        -o hybrid.parquet
    """
    import polars as pl

    import rankframe as rf
    from rankframe.analysis.fusion.names import resolve

    how["qrels"], sources = open_inputs(how.get("qrels"), runs)
    check_outputs([how["qrels"], *sources.values()], output)
    if "weights" in how:
        how["weights"] = _weights(how["weights"], len(sources))
    with out.progress(" + ".join(sources)) as report:
        fused = rf.fuse(sources, output=output, overwrite=out.overwrite, progress=report, **how)
    counts = fused.select(pl.len(), (pl.col("rank") == 1).sum()).collect(engine="streaming").row(0)
    chosen = resolve(how["method"], list(sources), norm=how.get("norm"), weights=how.get("weights"))
    rows, queries = map(number_of, counts, ("row", "query"))
    by = f" by {chosen.norm.name}" if chosen.norm is not None else ""
    summary = f"{output}: {rows} of {queries}, {chosen.label}{by} of {', '.join(sources)}"
    print(plain_text(summary), file=sys.stderr)


def _weights(text: str, count: int) -> list[float] | dict[str, float]:
    """Parse weights: numbers with commas between them, all or none with the name of a run."""
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(number) for _, _, number in parts]
    except ValueError:
        raise OptionError(
            f"--weights reads numbers with commas between them, e.g. "
            f"{','.join(['.5'] * count)}, not {text!r}."
        ) from None
    names = [name.strip() for name, _, _ in parts]
    if not any(names):
        return numbers
    if not all(names) or len(set(names)) < len(names):
        raise OptionError(
            "--weights takes numbers (.5,.5), or one number for each name of a run "
            f"(bm25=.5,dense=.5), not {text!r}."
        )
    return dict(zip(names, numbers, strict=True))


@takes(
    flags.QRELS_AND_RUNS,
    replace(flags.METRICS, name="metric", kind=str, default="ndcg@10"),
    Flag("methods", list[str] | None, "NAME", "--method", complete=methods),
    Flag("norms", list[str] | None, "NAME", "--norm"), Flag("grid", list[str] | None, "NAME=X,..."),
    Flag("folds", int, default=5), Flag("budget", int, default=200), Flag("depth", int | None),
    SharedPolicies, Intervals, *flags_of(Comparing, "test", "correction", "permutations"), Storage,
    flags.COLUMNS, flags.MAX_MEMORY, flags.QUERIES, flags.WEIGHT,
    output=(
        Flag("top", int, default=10), flags.formats("table", "json", "csv", "markdown"),
        *flags.RESULT,
    ),
)  # fmt: skip
def tune(sources: list[str], *, top: int, out: Output, how: Given) -> None:
    """Find the best fusion of runs, and test its gain on queries that were not used to choose it.

    Flags:
        metric: The metric to tune for; see `rankframe metrics`.
        methods: A method to try, e.g. rrf, wsum (repeatable).
        norms: A norm to try, e.g. zmuv (repeatable).
        grid: Values to try, e.g. k=10,60,100; for weights the step: weights=0.05 (repeatable).
        folds: Number of folds of queries.
        budget: Search the weights if there are more than N combinations.
        depth: Fuse only the top N documents of each run.
        top: Number of candidates to show.

    Examples:
      rankframe tune qrels.parquet bm25.parquet dense.parquet

      rankframe tune qrels.parquet bm25.parquet dense.parquet -m ndcg@10 \\
        --method wsum --norm min_max --norm zmuv --grid weights=0.05

      rankframe tune qrels.parquet bm25.parquet dense.parquet -m recall@100 \\
        --method rrf --grid k=10,20,60,100 --folds 10

      rankframe tune qrels.parquet bm25.parquet dense.parquet sparse.parquet \\
        --method wsum --method mapfuse --budget 300 --format markdown
    """
    import rankframe as rf
    from rankframe.analysis.tuning.candidates import parse_grid
    from rankframe.present.terminal import analysis_tables as show

    judgments, runs = open_inputs(sources[0], sources[1:])
    out.refuse_taken([judgments, *runs.values(), how.get("queries")], rf.Tuning.FILES)
    grid = parse_grid(how.pop("grid", ()))
    with out.progress("tuning") as report:
        found = rf.tune(judgments, runs, grid=grid, progress=report, **how)
    out.warn(found.caveats)
    out.deliver(
        found,
        lambda: show.tuning_text(found, out.style, top),
        lambda width: [show.tuning_table(found, width, top)],
    )
