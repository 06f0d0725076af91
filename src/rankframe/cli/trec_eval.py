"""Define the command that replaces trec_eval, with its options and output."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from rankframe.cli import flags
from rankframe.cli.completion import trec_measures
from rankframe.cli.inputs import open_sources
from rankframe.cli.options import Argument, Flag, Given, PlainCommand, takes
from rankframe.core.errors import OptionError, RankframeError
from rankframe.core.messages import number_of

# The format that trec_eval's -T names.
_RUN_FORMAT = "trec_results"
_OURS = ("--check", "--column", "--relevance")
# The version of trec_eval whose output is reproduced.
_VERSION = "10.0"


class TrecCommand(PlainCommand):
    """Parse arguments as trec_eval does: its exit codes, and abbreviated long options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. If they are wrong, exit with status 1, as trec_eval does."""
        checks = any(arg.partition("=")[0] == "--check" for arg in args)
        try:
            return super().parse_args(ctx, self._written_out(args))
        except Exception as error:
            if hasattr(error, "format_message") and not checks:
                error.ends_with = 1  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error ends with trec_eval's exit code or, with `--check`, with 2."""
        try:
            return super().invoke(ctx)
        except RankframeError as error:
            if ctx.params["check"] is None:
                from rankframe.trec_eval.evaluate import exit_code

                error.ends_with = exit_code(error)  # type: ignore[attr-defined]
            raise

    def _written_out(self, args: list[str]) -> list[str]:
        """Complete long options that were cut short, as C's getopt_long does."""
        names = [opt for option in self.params for opt in option.opts if opt.startswith("--")]
        long_options = [name for name in names if name not in _OURS] + ["--help"]
        end = args.index("--") if "--" in args else len(args)
        words = []
        for arg in args[:end]:
            name, equals, value = arg.partition("=")
            matches = [option for option in long_options if option.startswith(name)]
            cut = name.startswith("--") and name not in names and len(matches) == 1
            words.append(f"{matches[0]}{equals}{value}" if cut else arg)
        return words + args[end:]


def _print_version(requested: bool) -> None:
    if requested:
        from rankframe import __version__

        print(f"trec_eval version {_VERSION} (rankframe {__version__})", file=sys.stderr)
        raise typer.Exit


# Flags under the names of the fields of `TrecOptions`.
_OPTIONS = (
    Flag("complete", bool, typed="-c --complete_rel_info_wanted"),
    Flag("level", int, "N", "-l --level_for_rel", default=1),
    Flag("deepest", int | None, "N", "-M --Max_retrieved_per_topic"),
    Flag("judged_only", bool, typed="-J --Judged_docs_only"),
    Flag("collection", int | None, "N", "-N --Number_docs_in_coll"),
    Flag("rel_format", str, "FORMAT", "-R --Rel_info_format", default="qrels"),
)


@takes(
    Argument("qrels", str, "QRELS"), Argument("run", str, "RUN"),
    Flag("measures", list[str] | None, "NAME[.PARAMS]", "-m --measure", complete=trec_measures),
    Flag("queries", bool, typed="-q --query_eval_wanted"),
    Flag("no_summary", bool, typed="-n --nosummary"),
    *_OPTIONS,
    Flag("run_format", str, "FORMAT", "-T --Results_format", default=_RUN_FORMAT),
    Flag("old", bool, typed="-o"), Flag("check", Path | None),
    replace(flags.COLUMNS, typed="--column"), Flag("relevance", float | None, "GRADE"),
)  # fmt: skip
def trec_eval(
    qrels: str,
    run: str,
    *,
    measures: list[str] | None,
    queries: bool,
    no_summary: bool,
    run_format: str,
    check: Path | None,
    how: Given,
    _version: Annotated[
        bool,
        typer.Option(
            "-v", "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Print what trec_eval prints: its options, its measures, its lines.

    Flags:
        qrels: Judgments: a file, glob or folder, or - for stdin.
        run: The run: a file, glob or folder, or - for stdin.
        measures: A measure or nickname (repeatable; default: official).
        queries: Print every query before the summary.
        no_summary: Print no summary.
        complete: Count judged queries that the run lacks as 0.
        level: The lowest grade that is relevant.
        deepest: Keep only the top N documents of each query.
        judged_only: Remove unjudged and negatively graded documents, after the cut by -M.
        collection: Number of documents in the collection.
        rel_format: Format of the judgments: qrels, prefs, qrels_prefs or qrels_jg.
        run_format: Format of the run: trec_results.
        old: Ignored, for compatibility with trec_eval.
        check: List the lines that differ from this output of trec_eval.
        columns: Name of a column in your data, e.g. query_id=user (repeatable).
        relevance: Grade of every judged pair, for judgments without grades.

    Examples:
      rankframe trec_eval qrels.txt bm25.txt

      rankframe trec_eval -q -c -M1000 -m all_trec qrels.txt bm25.txt > run.eval

      rankframe trec_eval -m P.5,10 -m ndcg_cut.10 -l 2 qrels.parquet bm25.parquet

      rankframe trec_eval -q -c qrels.txt bm25.txt --check run.eval

      rankframe trec_eval -R prefs -m all_prefs prefs.txt bm25.txt

    -m takes trec_eval's measures, each with its own parameters, and the nicknames
    official, all_trec, set, prefs, all_prefs and qrels_jg. Without -m: official,
    or prefs, or qrels_jg, as -R has it. Long options may be cut short, as in
    --comp.

    Exit codes are trec_eval's: 1 for options and measures that it does not have,
    2 for what cannot be read, 4 for a document twice, 7 if no judged query is in
    the run. With --check: 0 if every line agrees, 1 if some differ, 2 if
    something is wrong.
    """
    from rankframe.trec_eval.check import compare_output, find_measures, read_output
    from rankframe.trec_eval.evaluate import TrecOptions, evaluate_trec

    if run_format != _RUN_FORMAT:
        raise OptionError(f"-T {run_format}: rankframe reads {_RUN_FORMAT} only.")
    options = TrecOptions(**{f.name: how.pop(f.name) for f in _OPTIONS if f.name in how})
    output = None if check is None else read_output(check)
    if output is not None and not measures:
        measures = find_measures(output, options.rel_format)
    judgments, documents = open_sources([qrels, run])
    how.pop("old")
    result = evaluate_trec(judgments, documents, measures, options, **how)
    compared = None if output is None else compare_output(output, result)
    if result.missing and not options.complete:
        are, were, them = ("is", "was", "it") if result.missing == 1 else ("are", "were", "them")
        missing = f"{result.missing:,} of {number_of(result.judged, 'judged query')} {are}"
        print(
            f"rankframe: {missing} not in the run and {were} left out; -c counts {them} as 0.",
            file=sys.stderr,
        )
    if compared is None:
        result.write(sys.stdout.buffer, queries=queries, summary=not no_summary)
        return
    compared.write(sys.stdout.buffer)
    raise typer.Exit(1 if compared.different.height else 0)
