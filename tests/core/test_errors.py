"""Errors keep their facts and word themselves: for Python, for the shell, of one of many runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import pytest

from rankframe.core import errors
from rankframe.core.errors import (
    AmbiguousColumnError,
    BadValueError,
    ColumnMappingError,
    ColumnTypeError,
    ConstantScoreError,
    ContradictingRanksError,
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
from tests.support.messages import Messages

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
    "constant": ConstantScoreError(3),
    "contradicting": ContradictingRanksError(3, 4),
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


@EVERY
def test_advice_is_an_argument_or_a_flag(error: RankframeError, message: Messages) -> None:
    assert str(error) == message(error.message())
    message(error.message(flags=True))


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
    "error",
    [
        DuplicateError("run", 1, PAIR, []),
        MissingQueriesError(2, 9, "q"),
        NoOverlapError("query_id", ["1"], ["q1"]),
        UnreadableInputError("the run dict", "no"),
        EmptyInputError("run", "x"),
        MissingColumnError("run", "score", ["a"], named="b"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_of_several_runs_it_says_which(error: RankframeError, message: Messages) -> None:
    error = raised(error, "'new'")
    message(error.message())
    message(error.message(flags=True))


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
    role: str, resolvable: bool | None, advised: bool, message
) -> None:
    said = str(DuplicateError(role, 1, {"query_id": "q"}, [2, 9, 11], resolvable=resolvable))
    message(said)
    assert ("keep_best" in said) == advised
    assert said.endswith(".")


def test_a_missing_extra_is_an_import_error_too() -> None:
    with pytest.raises(ImportError):
        raise EXAMPLES["extra"]


@pytest.mark.parametrize("columns", [["query_id", "score"], ["query_id"], ["relevances"]])
def test_a_run_in_the_place_of_judgments_is_noticed(columns: list[str], message: Messages) -> None:
    message(str(MissingColumnError("qrels", "relevance", columns)))


def test_no_message_has_a_password() -> None:
    error = OutputError("cannot reach ", "postgresql://ann:p@ss/w:rd@host/db?password=word&x=1.")
    assert str(error) == "cannot reach postgresql://host/db."
    assert pickle.loads(pickle.dumps(error)).message(flags=True) == str(error)
