"""Inputs of users and items give outputs that speak of users and items, in fixed columns."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import RankframeError
from rankframe.core.vocabulary import Vocabulary
from rankframe.io.inputs import open_judgments
from tests.cli.shell import rankframe
from tests.support.page_text import read_page

USERS = Vocabulary("user", "item")
NAMES = ("user_id", "item_id")
# Names of columns, items of ledgers and anchors are the same in all vocabularies.
KEYS = re.compile(r"\w*(?:quer|docum)\w*_\w+|\w+_(?:quer|docum)\w*|#quer\w*|fewest queries")


def rows(last: str, names: tuple[str, str] = NAMES, *, better: bool = False) -> pl.DataFrame:
    """40 users with two items each; the second is relevant."""
    values = [[1, 2] if better or number % 3 else [2, 1] for number in range(40)]
    return pl.DataFrame(
        {
            names[0]: [f"u{number}" for number in range(40) for _ in range(2)],
            names[1]: ["a", "b"] * 40,
            last: [value for pair in values for value in pair],
        }
    )


QRELS, OLD, NEW = rows("rating", better=True), rows("score"), rows("score", better=True)


def spoken(text: str) -> str:
    """The words of a text that are not names."""
    return KEYS.sub("", text)


def refuse_other_words(text: str) -> None:
    assert not re.findall(r".{0,30}(?:\bquer|docum).{0,30}", spoken(text), re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("Queries: a document, a query, an odd document", "Users: an item, a user, an odd item"),
        ("a query's top 10, per-query", "a user's top 10, per-user"),
        ("(query_id, doc_id) pairs, query_ids", "(user_id, item_id) pairs, user_ids"),
        ("'query' \"document\" `queries=`", "'query' \"document\" `queries=`"),
        (
            "queries=, --query, x/queries.csv, run.query",
            "queries=, --query, x/queries.csv, run.query",
        ),
        ("document-v2, queries_missing, requery", "document-v2, queries_missing, requery"),
        (r"'it\'s a query' of a query", r"'it\'s a query' of a user"),
    ],
)
def test_words_are_replaced_and_names_are_not(text: str, rendered: str) -> None:
    assert USERS.render(text) == rendered
    assert USERS.render(rendered) == rendered
    assert Vocabulary().render(text) == text


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"userId": ["u"], "movieId": ["a"], "rating": [1]}, USERS),
        ({"uid": ["u"], "liked": [["a"]]}, USERS),
        ({"user_id": ["u"], "doc_id": ["a"], "rating": [1]}, Vocabulary("user", "document")),
        ({"query_id": ["u"], "item_id": ["a"], "rating": [1]}, Vocabulary("query", "item")),
        ({"query": ["u"], "product_id": ["a"], "rating": [1]}, Vocabulary()),
    ],
)
def test_words_come_from_the_names_of_columns(frame: dict[str, Any], words: Vocabulary) -> None:
    columns = {"query_id": "userId", "doc_id": "movieId"} if "movieId" in frame else None
    assert open_judgments(pl.DataFrame(frame), columns).vocabulary == words


def test_a_result_speaks_of_users_here_and_when_it_is_read(tmp_path: Path) -> None:
    with pytest.warns(rf.RankframeWarning, match="every judged item counts") as told:
        result = rf.evaluate(QRELS, OLD, ["mrr", "ndcg@10"])
    result.write(tmp_path / "result")
    stored = rf.Result.read(tmp_path / "result")
    for one in (result, stored):
        assert one.vocabulary == USERS
        assert "40 users evaluated" in repr(one)
        assert one.per_query.columns == ["query_id", "mrr", "ndcg@10"]
        for text in (repr(one), one._repr_html_(), *one.ledger["note"], *map(str, one.caveats)):
            refuse_other_words(text)
    assert len(told) == 1
    # Searches have no row about words.
    names = ("query_id", "doc_id")
    searched = rf.evaluate(rows("rating", names), rows("score", names), "mrr")
    assert searched.ledger["item"].to_list() == [
        item for item in result.ledger["item"] if item != "policy_vocabulary"
    ]
    assert "40 queries evaluated" in repr(searched)


def test_the_judgments_decide() -> None:
    names = ("query_id", "doc_id")
    assert rf.evaluate(QRELS, rows("score", names), "mrr").vocabulary == USERS
    assert rf.evaluate(rows("rating", names), OLD, "mrr").vocabulary == Vocabulary()
    assert rf.evaluate(None, OLD, "personalisation@1").vocabulary == USERS
    assert rf.agree(OLD, rows("score", names), "rbo").vocabulary == USERS


def test_decisions_speak_of_users() -> None:
    runs = {"old": OLD, "new": NEW}
    comparison = rf.compare(QRELS, runs, ["mrr"], baseline="old", rel=2)
    verdict = rf.gate(
        QRELS,
        NEW,
        rf.evaluate(QRELS, OLD, "mrr", rel=2),
        "mrr: no worse than -1%",
        min_queries=50,
        rel=2,
    )
    change = rf.diff(QRELS, OLD, NEW, "mrr", rel=2)
    tuning = rf.tune(QRELS, runs, "wsum", "mrr", grid={"weights": 0.5}, folds=2, rel=2)
    assert "40 users compared" in repr(comparison)
    assert "40 users, fewer than 50" in verdict.checks["reason"][0]
    assert "user_id" in repr(change)
    assert "40 users in 2 folds" in tuning.overview
    for one in (comparison, verdict, change, tuning):
        assert one.vocabulary == USERS
        for text in (repr(one), one._repr_html_(), *map(str, one.caveats)):
            refuse_other_words(text)
    for text in (
        comparison.to_markdown(details=True), comparison.to_markdown(), comparison.to_latex(),
        verdict.to_markdown(), verdict.to_junit(), *comparison.ledger["note"].filter(
            ~comparison.ledger["item"].str.starts_with("policy_")
        ),
    ):  # fmt: skip
        refuse_other_words(text)
    assert change.movers.columns[0] == "query_id"
    assert change.documents.columns[:2] == ["query_id", "doc_id"]


def test_different_words_are_queries_and_documents() -> None:
    names = ("query_id", "doc_id")
    users, queries = (
        rf.evaluate(rows("rating", n, better=True), rows("score", n), "mrr") for n in (NAMES, names)
    )
    assert rf.compare(None, {"a": users, "b": users}).vocabulary == USERS
    mixed = rf.compare(None, {"a": users, "b": queries})
    assert mixed.vocabulary == Vocabulary()
    assert "40 queries compared" in repr(mixed)
    verdict = rf.gate(None, users, queries, "mrr: no worse than -1%")
    assert "40 queries" in verdict.headline


@pytest.mark.parametrize("limit", [None, "1kB"])
def test_errors_speak_of_users(limit: str | None) -> None:
    twice = pl.concat([OLD, OLD.head(1)])
    with pytest.raises(RankframeError, match=r"duplicate \(user_id, item_id\) pair") as error:
        rf.evaluate(QRELS, twice, "mrr", max_memory=limit)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    with pytest.raises(RankframeError, match="lacks 38 of 40 judged users"):
        rf.evaluate(QRELS, OLD.head(4), "mrr", missing="error", max_memory=limit)
    with pytest.raises(RankframeError, match="no item in the run matches any judgment"):
        rf.evaluate(QRELS, OLD.with_columns(item_id="x" + pl.col("item_id")), "mrr")
    with pytest.raises(RankframeError, match=r"duplicate \(user_id, item_id\) pair"):
        rf.compare(QRELS, {"old": OLD, "new": twice}, "mrr")
    with pytest.raises(RankframeError, match=r"duplicate \(user_id, item_id\) pair"):
        rf.fuse({"old": OLD, "new": twice}).collect()


def test_the_command_line_speaks_of_users(tmp_path: Path) -> None:
    for name, frame in (("qrels", QRELS), ("old", OLD), ("new", NEW)):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in ("qrels", "old", "new")]
    for command in (
        ("evaluate", *files, "-m", "mrr", "--ledger"),
        ("compare", *files, "-m", "mrr", "--ledger", "--bounds"),
        ("diff", *files, "-m", "mrr"),
    ):
        code, out, err = rankframe(*command, width=200)
        assert code == 0
        assert "users" in out
        refuse_other_words(out.replace(str(tmp_path), ""))
        refuse_other_words(err)
    _, out, _ = rankframe("evaluate", *files, "-m", "mrr", "--format", "csv")
    assert "queries" in out.splitlines()[0].split(",")


def test_the_report_and_its_charts_speak_of_users(tmp_path: Path) -> None:
    runs = {"old": OLD, "new": NEW}
    page = rf.report(
        QRELS, runs, ["ndcg@10"], output=tmp_path / "r.html", rules=["ndcg@10: no worse than -1%"]
    )
    tree = read_page(page.read_text(encoding="utf-8")).one("main")
    texts: list[str] = []

    def read(element: Any) -> None:
        texts.append(element.text)
        list(map(read, element.children))

    read(tree)
    assert any("Find a user or item" in text for text in texts)
    for text in texts:
        refuse_other_words(text)


def test_charts_of_results_speak_of_users() -> None:
    result = rf.evaluate(QRELS, OLD, "mrr")
    spec = rf.plot.distribution({"old": result}).to_dict()
    assert spec["title"]["text"] == ["Distribution of mrr over users"]
    assert spec["title"]["subtitle"] == ["old; 40 users"]
    encoding = spec["spec"]["encoding"]
    assert encoding["y"]["title"] == "share of users"
    assert {tip["field"]: tip.get("title") for tip in encoding["tooltip"]}["queries"] == "users"
    own = rf.plot.distribution(result, title="Queries").to_dict()
    assert own["title"]["text"] == ["Queries"]
    frame = rf.plot.distribution(result.per_query).to_dict()
    assert frame["title"]["text"] == ["Distribution of mrr over queries"]
