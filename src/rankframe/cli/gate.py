"""`rankframe gate`: a run against a stored baseline; `rankframe history`: results over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import typer

from rankframe.cli import flags
from rankframe.cli.inputs import NOTHING, open_sources, runs_by_name, split_name
from rankframe.cli.options import REQUIRED, Argument, Flag, Given, flags_of, takes
from rankframe.cli.outputs import Output, check_outputs
from rankframe.core.errors import OptionError
from rankframe.core.options import Comparing, SharedPolicies, Storage


def _shares(texts: list[str]) -> dict[int, float]:
    """Parse K=SHARE pairs; a share without K is for the top 10.

    >>> _shares(["0.5", "20=0.4"])
    {10: 0.5, 20: 0.4}
    """
    shares: dict[int, float] = {}
    for item in texts:
        depth, equals, share = item.rpartition("=")
        try:
            shares[int(depth) if equals else 10] = float(share)
        except ValueError as error:
            raise OptionError(f"--min-judged reads K=SHARE, e.g. 10=0.5, not {item!r}.") from error
    return shares


RULE = Flag(
    "rule", list[str] | None, "RULE", "--rule -r",
    help="A rule, e.g. 'ndcg@10: no worse than -0.5% at 95%' (repeatable).",
)  # fmt: skip
RULES = Flag("rules", Path | None, help="Rules in a TOML file.")


@takes(
    Argument("sources", list[str], "QRELS RUN"),
    Flag("baseline", str, "STORED", "--baseline -b", default=REQUIRED), RULE, RULES,
    Flag("min_queries", int | None),
    Flag("min_judged", list[str] | None, "K=SHARE", read=_shares),
    SharedPolicies, Storage,
    flags.COLUMNS, flags.MAX_MEMORY, flags.LOWER_IS_BETTER, flags.HIGHER_IS_BETTER,
    flags.QUERIES, flags.WEIGHT,
    *flags_of(Comparing, "unpaired"),
    output=(
        flags.formats("table", "json", "markdown"), flags.QUIET,
        Flag("json", Path | None), Flag("junit", Path | None),
    ),
)  # fmt: skip
def gate(
    sources: list[str],
    *,
    baseline: str,
    json: Path | None,
    junit: Path | None,
    out: Output,
    how: Given,
) -> None:
    """Check a run against a stored baseline and rules.

    Flags:
        sources: Judgments and a run (NAME=RUN names it), or a stored result.
        baseline: The stored result to compare with, or its per-query file.
        min_queries: Do not decide with fewer queries (default: 30).
        min_judged: Do not decide if less than this share of the top K is judged, e.g. 10=0.5
            (repeatable).
        json: Write the verdict to this file, as JSON.
        junit: Write the verdict to this file, as JUnit XML.

    Examples:
      rankframe gate qrels.parquet dense.parquet --baseline results/main \\
        -r "ndcg@10: no worse than -0.5% at 95%"

      rankframe gate qrels.parquet new=dense.parquet --baseline results/main \\
        --rules gate.toml --junit gate.xml --format markdown

      rankframe gate results/dense --baseline results/main --rules gate.toml

    The last one evaluates nothing: both are stored results.

    The baseline is a stored result:
    rankframe evaluate qrels.parquet bm25.parquet -m ndcg@10 -o results/main

    Exit code 0: pass, 1: fail, 2: could not decide (bad input, too few queries or
    judgments, or judgments that favour one side: docs/caveats.md).
    """
    import rankframe as rf
    from rankframe.io.outputs import write_file
    from rankframe.present.terminal.analysis_tables import verdict_table

    if len(sources) > 2:
        raise OptionError(f"a gate takes QRELS and RUN, or one stored result, not {len(sources)}.")
    qrels, (name, run) = sources[:-1], split_name(sources[-1])
    before, stored = split_name(baseline)
    if name is not None and name == before:
        raise OptionError(f"run and baseline are both named {name!r}. Give each its own name.")
    opened = open_sources([*qrels, run, stored])
    judgments = opened[0] if qrels and qrels[0] != NOTHING else None
    check_outputs([*opened, how.get("queries"), how.get("rules")], json, junit)
    rules = rules_from(how)
    with out.progress("deciding") as report:
        verdict = rf.gate(judgments, opened[-2], opened[-1], rules, progress=report, **how)
    verdict = verdict.named(baseline=before, candidate=name)
    out.warn(verdict.caveats)
    for target, text in ((json, verdict.to_json), (junit, verdict.to_junit)):
        if target:
            write_file(target, lambda path, text=text: path.write_text(text(), encoding="utf-8"))
    out.print(
        verdict.to_json if out.style == "json" else verdict.to_markdown,
        lambda _: [verdict_table(verdict)],
    )
    raise typer.Exit(verdict.exit_code)


def rules_from(how: Given) -> dict[str, Any]:
    """Remove the flags of rules from `how`; return single rules joined with those of a file."""
    from rankframe.analysis.gate_rules import read_table

    file, texts = how.pop("rules", None), how.pop("rule", [])
    table = {} if file is None else read_table(file)
    rules = table.get("rules", [])
    if not isinstance(rules, list):  # refused when the rules are read
        return table
    return {**table, "rules": [*rules, *texts]}


@takes(
    Argument("folders", list[str], "FOLDER..."), flags.METRICS,
    Flag("order", Literal["date", "given"], default="date"),
    Storage,
    output=(
        flags.formats("table", "json", "csv"),
        Flag("target", Path | None, typed="--output -o"), flags.QUIET,
        Flag("plot", Path | None), flags.MARGIN,
    ),
)  # fmt: skip
def history(
    folders: list[str], *, plot: Path | None, margin: str | None, out: Output, how: Given
) -> None:
    """Show how metrics of stored results changed over time.

    The date of a result is the modification time of its summary.

    Flags:
        folders: Stored results of `evaluate -o`; NAME=FOLDER names a result.
        order: Sort by the date of writing, or keep the given order.
        target: Write the table to this file.
        plot: Draw a chart into this .png, .svg, .pdf or .html file.

    Examples:
      rankframe history results/bm25 results/dense

      rankframe history old=results/bm25 new=results/dense -m ndcg@10 \\
        --order given --plot history.svg --margin=-1%

      rankframe history results/bm25 results/dense -o history.csv
    """
    import rankframe as rf
    from rankframe.io.outputs import write_frame
    from rankframe.present.terminal.analysis_tables import history_table
    from rankframe.present.terminal.render import csv_text, json_text

    named = runs_by_name(folders)
    check_outputs([], plot, tables=[out.target])
    with out.progress("reading"):
        found = rf.history(named, **how)
        if plot is not None:
            from rankframe.present.charts.registry import save

            save(rf.plot.history(found, margin=margin), plot)
    if out.target is not None:
        write_frame(found, out.target, {"frame": "history", "results": list(named)})

    def text() -> str:
        if out.style == "csv":
            return csv_text(found)
        return json_text([{**row, "date": row["date"] and row["date"].isoformat()}
                          for row in found.to_dicts()])  # fmt: skip

    out.print(text, lambda _: [history_table(found)])
