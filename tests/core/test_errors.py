"""Errors keep their facts and word themselves: for Python, for the shell, of one of many runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rankframe.core import errors
from rankframe.core.errors import (
    AmbiguousColumnError,
    BadValueError,
    ColumnMappingError,
    ColumnTypeError,
    DuplicateError,
    EmptyInputError,
    ForkedError,
    MalformedLineError,
    MetricParameterError,
    MissingColumnError,
    MissingExtraError,
    MissingQueriesError,
    NoOverlapError,
    NoSharedQueryError,
    OptionError,
    OutputError,
    RankframeError,
    SparkError,
    UnknownMetricError,
    UnknownOptionError,
    UnorderedRunError,
    UnreadableInputError,
    naming_the_run,
)
from rankframe.core.messages import Option

PAIR = {"query_id": "q17", "doc_id": "d302"}
# Text of the user's that reads like an option of ours.
USERS = 'sku="A1" or duplicates="keep_best" of the run'
EXAMPLES: dict[str, RankframeError] = {
    "plain": RankframeError("text alone."),
    "unreadable": UnreadableInputError("x.csv", "no such file", "Did you mean 'y.csv'?"),
    "unreadable run": UnreadableInputError("the run dict", "not a number"),
    "malformed": MalformedLineError("x.run", 3, "q1 Q0", "2 fields", 1_200),
    "missing column": MissingColumnError("run", "doc_id", ["a", "b"]),
    "missing everywhere": MissingColumnError.everywhere(
        "doc_id", "sku", {"qrels": ["a", "b"], "run": ["skus"]}
    ),
    "missing grades": MissingColumnError("qrels", "relevance", ["a", "b"]),
    "wide": MissingColumnError("ranking b", "doc_id", [f"c{at}" for at in range(40_000)]),
    "asked for": MissingColumnError("run", "score", ["scores"], named="scored"),
    "ambiguous": AmbiguousColumnError("run", "query_id", ["qid", "topic"]),
    "unordered": UnorderedRunError("run", ["qid", "doc", "bm"], ["bm"]),
    "mapping": ColumnMappingError("querry_id", ["query_id", "doc_id"]),
    "no mapping": ColumnMappingError.kind(["query_id"]),
    "type": ColumnTypeError("run", "score", "Date", "numbers"),
    "bad value": BadValueError("run", "a NaN score", 2, "row 1 (query_id 'q')", "Give it one"),
    "duplicate": DuplicateError("run", 14, PAIR, [8, 95]),
    "empty": EmptyInputError("run", "x.csv"),
    "no overlap": NoOverlapError("doc_id", ["17"], ["doc17"]),
    "no shared query": NoSharedQueryError(["q1"], ["1"]),
    "missing queries": MissingQueriesError(2, 1_000, "q7"),
    "unknown metric": UnknownMetricError("ndgc@10", ["ndcg@10"]),
    "parameter": MetricParameterError("a cutoff must be at least 1, not 0."),
    "option": OptionError("pass ", Option("unpaired", "skip"), "."),
    "choice": OptionError.choice("ties", "doc_dsc", ["doc_desc", "doc_asc"]),
    "no option": UnknownOptionError("evaluate", "relx", ["rel", "ranks"]),
    "output": OutputError("x holds a result. Pass ", Option("overwrite", value=True), "."),
    "forked": ForkedError(),
    "spark": SparkError("Spark gave up."),
    "extra": MissingExtraError("a chart", "report"),
}  # fmt: skip
EVERY = pytest.mark.parametrize("error", EXAMPLES.values(), ids=EXAMPLES)


def kinds(kind: type[RankframeError] = RankframeError) -> Iterator[type[RankframeError]]:
    yield kind
    for one in kind.__subclasses__():
        if one.__module__ == errors.__name__:
            yield from kinds(one)


def test_every_error_is_here() -> None:
    assert {type(error) for error in EXAMPLES.values()} == set(kinds())


@pytest.mark.parametrize(
    ("name", "in_python", "in_the_shell"),
    [
        ("missing column",
         ('run has no doc_id column; it has \'a\', \'b\'. '
          'Name it: columns={"run": {"doc_id": "your_column"}}.'),
         ("run has no doc_id column; it has 'a', 'b'. "
          "Name it: --column run.doc_id=your_column.")),
        ("missing everywhere",
         ("there is no column 'sku' (asked for as doc_id): qrels has 'a', 'b'; run has 'skus'. "
          "Did you mean 'skus'?"),
         ("there is no column 'sku' (asked for as doc_id): qrels has 'a', 'b'; run has 'skus'. "
          "Did you mean 'skus'?")),
        ("missing grades",
         ("qrels has no relevance column; it has 'a', 'b'. "
          'Name it: columns={"qrels": {"relevance": "your_column"}}; '
          "if every row is a relevant pair, pass relevance=1.0."),
         ("qrels has no relevance column; it has 'a', 'b'. "
          "Name it: --column qrels.relevance=your_column; "
          "if every row is a relevant pair, pass --relevance 1.0.")),
        ("wide",
         ("ranking b has no doc_id column; it has 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', "
          "'c8', 'c9', 'c10', 'c11', and 39,988 more. "
          'Name it: columns={"b": {"doc_id": "your_column"}}.'),
         ("ranking b has no doc_id column; it has 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', "
          "'c8', 'c9', 'c10', 'c11', and 39,988 more. "
          "Name it: --column b.doc_id=your_column.")),
        ("ambiguous",
         ("run has 2 columns that may be query_id: 'qid', 'topic'. "
          'Say which: columns={"run": {"query_id": "qid"}}.'),
         ("run has 2 columns that may be query_id: 'qid', 'topic'. "
          "Say which: --column run.query_id=qid.")),
        ("duplicate",
         ("run has 14 duplicate (query_id, doc_id) pairs, e.g. ('q17', 'd302') at rows 8 and 95. "
          'Keep one of each, or pass duplicates="keep_best".'),
         ("run has 14 duplicate (query_id, doc_id) pairs, e.g. ('q17', 'd302') at rows 8 and 95. "
          "Keep one of each, or pass --duplicates keep_best.")),
        ("no overlap",
         ("no document in the run matches any judgment: run doc_ids look like '17', qrels doc_ids "
          "like 'doc17'. Is the key column right? If this is no mistake, pass "
          'no_overlap="zero".'),
         ("no document in the run matches any judgment: run doc_ids look like '17', qrels doc_ids "
          "like 'doc17'. Is the key column right? If this is no mistake, pass --no-overlap zero.")),
        ("missing queries",
         ("the run lacks 2 of 1,000 judged queries, e.g. 'q7'. "
          'Pass missing="zero" to score them 0, or missing="skip" to leave them out.'),
         ("the run lacks 2 of 1,000 judged queries, e.g. 'q7'. "
          'Pass --missing zero to score them 0, or --missing skip to leave them out.')),
        ("output", "x holds a result. Pass overwrite=True.", "x holds a result. Pass --overwrite."),
        ("option", 'pass unpaired="skip".', "pass --unpaired skip."),
    ],
)  # fmt: skip
def test_advice_is_an_argument_or_a_flag(name: str, in_python: str, in_the_shell: str) -> None:
    error = EXAMPLES[name]
    assert str(error) == error.message() == in_python
    assert error.message(flags=True) == in_the_shell


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("unreadable", "cannot read x.csv: no such file. Did you mean 'y.csv'?"),
        ("unreadable run", "cannot read the run dict: not a number."),
        ("malformed", "x.run, line 3: 2 fields, in 'q1 Q0' (1,200 such lines in all)."),
        ("asked for", ("run has no column 'scored' (asked for as score); it has 'scores'. "
                       "Did you mean 'scores'?")),
        ("mapping", ("columns= names 'querry_id', which is not a column of rankframe. "
                     "Did you mean 'query_id'? It takes 'query_id', 'doc_id', each mapped to a "
                     "name in your data.")),
        ("no mapping", ('columns= takes a mapping such as {"query_id": "user_id"}, '
                        "not ['query_id'].")),
        ("type", "run column 'score' has type Date; it must hold numbers."),
        ("bad value", "run has 2 rows with a NaN score, e.g. row 1 (query_id 'q'). Give it one."),
        ("empty", "run is empty: x.csv has no rows."),
        ("no shared query", ("the two rankings have no query in common: the first has ids like "
                             "'q1', the second like '1'. Is the key column right?")),
        ("unknown metric", ("unknown metric 'ndgc@10'. Did you mean 'ndcg@10'? "
                            "See `rankframe metrics`.")),
        ("choice", ("ties='doc_dsc' is not one of 'doc_desc', 'doc_asc'. "
                    "Did you mean 'doc_desc'?")),
        ("extra", "a chart needs an optional part: pip install 'rankframe[report]'."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_full(name: str, said: str) -> None:
    assert str(EXAMPLES[name]) == said


def raised(error: RankframeError, *runs: str) -> RankframeError:
    """The error as it comes out of work on a run of this name (the innermost first)."""

    def work(left: tuple[str, ...]) -> None:
        if not left:
            raise error
        with naming_the_run(left[-1]):
            work(left[:-1])

    with pytest.raises(RankframeError) as caught:
        work(runs)
    return caught.value


@pytest.mark.parametrize(
    ("make", "beginning"),
    [
        (lambda: DuplicateError("run", 1, PAIR, []), "run 'new' has 1 duplicate "),
        (lambda: MissingQueriesError(2, 9, "q"), "the run 'new' lacks 2 of 9"),
        (lambda: NoOverlapError("query_id", ["1"], ["q1"]),
         "no query in the run 'new' matches any judgment: run query_ids look like"),
        (lambda: UnreadableInputError("the run dict", "no"), "cannot read the run 'new' dict: no."),
        (lambda: EmptyInputError("run", "x"), "run 'new' is empty: x has no rows."),
        (lambda: MissingColumnError("run", "score", ["a"], named="b"), "run 'new' has no column"),
    ],
)  # fmt: skip
def test_of_several_runs_it_says_which(make: Callable[[], RankframeError], beginning: str) -> None:
    error = raised(make(), "'new'")
    assert error.message().startswith(beginning)
    assert error.message(flags=True).startswith(beginning)


def test_what_does_not_speak_of_the_run_stays_as_it_is() -> None:
    for make in (
        lambda: DuplicateError("qrels", 1, PAIR, []),
        lambda: OptionError("the run is fine."),
        lambda: UnreadableInputError("over the run of it", "no"),
    ):
        assert str(raised(make(), "b")) == str(make())


def test_the_name_is_the_one_given_last_and_other_errors_pass_through() -> None:
    assert str(raised(EmptyInputError("run", "x"), "inner", "outer")).startswith("run outer ")
    with pytest.raises(KeyError), naming_the_run("b"):
        raise KeyError("run")


@EVERY
def test_it_travels_with_its_facts(error: RankframeError) -> None:
    before, run = vars(error).copy(), error.run
    error.run = "b"
    for again in (pickle.loads(pickle.dumps(error)), pickle.loads(pickle.dumps(error, 2))):
        assert type(again) is type(error)
        assert vars(again) == vars(error)
        assert again.args == error.args
        for flags in (False, True):
            assert again.message(flags=flags) == error.message(flags=flags)
        assert isinstance(again, ValueError)
    error.run = run
    assert vars(error) == before


def test_what_travelled_can_still_be_asked_for_its_facts() -> None:
    again = pickle.loads(pickle.dumps(EXAMPLES["duplicate"]))
    assert (again.role, again.count, again.example, again.rows) == ("run", 14, PAIR, [8, 95])


@pytest.mark.parametrize(
    "make",
    [
        lambda: BadValueError("run", "a value", 1, USERS, ""),
        lambda: DuplicateError("qrels", 1, {"query_id": USERS}, [], resolvable=False),
        lambda: MissingColumnError("run", "score", [USERS], named=USERS),
        lambda: MissingQueriesError(1, 2, USERS),
        lambda: NoOverlapError("doc_id", [USERS], [USERS]),
        lambda: OptionError.choice("ties", USERS, ["doc_desc"]),
        lambda: UnreadableInputError(USERS, "no"),
        lambda: UnknownMetricError(USERS, []),
        lambda: RankframeError(USERS),
    ],
)
def test_a_users_own_text_stays_as_it_is(make: Callable[[], RankframeError]) -> None:
    error = raised(make(), "b")
    for flags in (False, True):
        said = error.message(flags=flags)
        assert USERS in said or repr(USERS) in said


@pytest.mark.parametrize(
    ("role", "resolvable", "advised"),
    [("run", None, True), ("qrels", None, True), ("ranking a", None, True),
     ("queries", None, False), ("run", False, False), ("queries", True, True)],
)  # fmt: skip
def test_the_best_can_be_kept_where_there_is_one(
    role: str, resolvable: bool | None, advised: bool
) -> None:
    said = str(DuplicateError(role, 1, {"query_id": "q"}, [2, 9, 11], resolvable=resolvable))
    assert said.startswith(f"{role} has 1 duplicate query_id, e.g. ('q') at rows 2 and 9. ")
    assert ("keep_best" in said) == advised
    assert said.endswith(".")


def test_a_missing_extra_is_an_import_error_too() -> None:
    with pytest.raises(ImportError):
        raise EXAMPLES["extra"]


def test_a_run_in_the_place_of_judgments_is_noticed() -> None:
    def said(found: list[str], **options: Any) -> str:
        return str(MissingColumnError("qrels", "relevance", found, **options))

    assert said(["query_id", "score"]).endswith("Is this the run? The judgments come first.")
    assert said(["query_id"]).endswith("pass relevance=1.0.")
    assert said(["relevances"]).endswith("Did you mean 'relevances'?")


def test_no_message_has_a_password() -> None:
    error = OutputError("cannot reach ", "postgresql://ann:p@ss/w:rd@host/db?password=word&x=1.")
    assert str(error) == "cannot reach postgresql://host/db."
    assert pickle.loads(pickle.dumps(error)).message(flags=True) == str(error)
