"""The command that stands in for trec_eval: the same options, the same lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rankframe.cli.completion import own_columns, trec_measures
from rankframe.cli.options import PlainCommand
from rankframe.cli.support import column_names, open_sources
from rankframe.core.errors import OptionError, RankframeError
from rankframe.core.messages import number_of

if TYPE_CHECKING:
    from rankframe.trec_eval.measures import RelFormat

EXAMPLES = """
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
# The format that trec_eval's -T names.
_RUN_FORMAT = "trec_results"
# The version whose lines these are.
_OURS = ("--check", "--column", "--relevance")
_VERSION = "10.0"


class Command(PlainCommand):
    """The command with trec_eval's exit codes, and long options cut short."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; where they are no arguments, trec_eval ends with 1."""
        checks = any(arg.partition("=")[0] == "--check" for arg in args)
        try:
            return super().parse_args(ctx, self._written_out(args))
        except Exception as error:
            if hasattr(error, "format_message") and not checks:
                error.ends_with = 1  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors end with trec_eval's codes, those of a check with 2."""
        try:
            return super().invoke(ctx)
        except RankframeError as error:
            if ctx.params["check"] is None:
                from rankframe.trec_eval.evaluate import exit_code

                error.ends_with = exit_code(error)  # type: ignore[attr-defined]
            raise

    def _written_out(self, args: list[str]) -> list[str]:
        """Long options as C's getopt_long finds them: by a beginning that only one has."""
        names = [opt for one in self.params for opt in one.opts if opt.startswith("--")]
        theirs = [name for name in names if name not in _OURS] + ["--help"]
        end = args.index("--") if "--" in args else len(args)
        found = []
        for arg in args[:end]:
            name, equals, value = arg.partition("=")
            fit = [one for one in theirs if one.startswith(name)]
            cut = name.startswith("--") and name not in names and len(fit) == 1
            found.append(f"{fit[0]}{equals}{value}" if cut else arg)
        return found + args[end:]


def _print_version(wanted: bool) -> None:
    if wanted:
        from rankframe import __version__

        print(f"trec_eval version {_VERSION} (rankframe {__version__})", file=sys.stderr)
        raise typer.Exit


def trec_eval(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or - (stdin).")
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, likewise.")],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="NAME[.PARAMS]",
            help="A measure or nickname (repeat); else official.",
            autocompletion=trec_measures,
        ),
    ] = None,
    queries: Annotated[
        bool, typer.Option("-q", "--query_eval_wanted", help="Every query before the summary.")
    ] = False,
    no_summary: Annotated[bool, typer.Option("-n", "--nosummary", help="No summary.")] = False,
    complete: Annotated[
        bool,
        typer.Option(
            "-c", "--complete_rel_info_wanted", help="Judged queries that the run lacks count 0."
        ),
    ] = False,
    level: Annotated[
        int,
        typer.Option(
            "-l", "--level_for_rel", metavar="N", help="The lowest grade that is relevant."
        ),
    ] = 1,
    deepest: Annotated[
        int | None,
        typer.Option(
            "-M", "--Max_retrieved_per_topic", metavar="N", help="Look at the top so many only."
        ),
    ] = None,
    judged_only: Annotated[
        bool,
        typer.Option(
            "-J",
            "--Judged_docs_only",
            help="Drop unjudged documents, and those of negative grade, after the cut by -M.",
        ),
    ] = False,
    collection: Annotated[
        int | None,
        typer.Option(
            "-N", "--Number_docs_in_coll", metavar="N", help="Documents in the collection."
        ),
    ] = None,
    rel_format: Annotated[
        str,
        typer.Option(
            "-R",
            "--Rel_info_format",
            metavar="FORMAT",
            help="Of the judgments: qrels, prefs, qrels_prefs or qrels_jg.",
        ),
    ] = "qrels",
    run_format: Annotated[
        str,
        typer.Option("-T", "--Results_format", metavar="FORMAT", help="Of the run: trec_results."),
    ] = "trec_results",
    _old: Annotated[bool, typer.Option("-o", help="Means nothing, as in trec_eval.")] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "-v", "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An output of trec_eval: list the lines that differ."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=YOURS",
            help="A column of yours, e.g. query_id=user (repeat).",
            autocompletion=own_columns,
        ),
    ] = None,
    relevance: Annotated[
        float | None,
        typer.Option(metavar="GRADE", help="Grade of every pair, where judgments have no grades."),
    ] = None,
) -> None:
    """What trec_eval does: its options, its measures, its lines, for any number of queries."""
    from rankframe.trec_eval.check import compare_output, measures_in, read_output
    from rankframe.trec_eval.evaluate import TrecOptions, evaluate_trec

    if run_format != _RUN_FORMAT:
        raise OptionError(f"-T {run_format}: rankframe reads {_RUN_FORMAT} only.")
    judged = cast("RelFormat", rel_format)  # checked with the other options
    options = TrecOptions(complete, level, deepest, judged_only, collection, judged)
    output = None if check is None else read_output(check)
    unasked = None if output is None else measures_in(output, judged)
    judgments, documents = open_sources([qrels, run])
    found = evaluate_trec(
        judgments,
        documents,
        measure or unasked,
        options,
        columns=column_names(column),
        relevance=relevance,
    )
    checked = None if output is None else compare_output(output, found)
    if found.missing and not complete:
        are, were, them = ("is", "was", "it") if found.missing == 1 else ("are", "were", "them")
        print(
            f"rankframe: {found.missing:,} of {number_of(found.judged, 'judged query')} {are} not "
            f"in the run and {were} left out; -c counts {them} as 0.",
            file=sys.stderr,
        )
    if checked is None:
        found.write(sys.stdout.buffer, queries=queries, summary=not no_summary)
    else:
        checked.write(sys.stdout.buffer)
    raise typer.Exit(1 if checked is not None and checked.different.height else 0)
