"""The same bits on Spark as on one machine, and the same errors, without a Java trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import names_over
from rankframe.spark import driver as spark_driver
from rankframe.spark import entry as on_spark
from tests.support.oracles import ODD_IDS, random_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rankframe[spark]'")
pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java, which is not installed (Debian: default-jre-headless)",
    ),
    # pyspark 4 does not know pandas 3 yet, and leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SCHEMAS = {
    "relevance": "query_id string, doc_id string, relevance double",
    "score": "query_id string, doc_id string, score double",
}
SHOP = Path(__file__).parents[2] / "data" / "shop"
# Two cores, four attempts: plain local[2] does not try again.
MASTER = "local[2,4]"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    session = (
        SparkSession.builder.master(MASTER)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def table(values: dict[str, dict[str, Any]], number: str) -> pl.DataFrame:
    rows = [(query, doc, float(n)) for query, docs in values.items() for doc, n in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")


def odd(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with ids that a careless comparison confuses."""
    queries = {f"q{at}": name for at, name in enumerate(ODD_IDS)}
    docs = {f"d{at}": name for at, name in enumerate(ODD_IDS)}
    return frame.with_columns(pl.col("query_id").replace(queries), pl.col("doc_id").replace(docs))


CASE = random_case(8, queries=120)
QRELS, RUN = odd(table(CASE.qrels, "relevance")), odd(table(CASE.run, "score"))
QUERIES = (
    pl.concat([QRELS, RUN], how="diagonal")
    .select(pl.col("query_id").unique().sort())
    .with_row_index("n")
    .select(
        "query_id",
        # null for some
        locale=(pl.col("n") % 4).replace_strict({0: "de", 1: "en", 2: "fr"}, default=None),
        device=pl.when(pl.col("n") % 3 == 0).then(pl.lit("phone")).otherwise(pl.lit("desk")),
        weight=pl.col("n") % 7 + 0.1,
    )
)


def sent(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    return spark.createDataFrame(frame.rows(), SCHEMAS[frame.columns[2]])


def assert_same(found: rf.spark.SparkResult, expected: rf.Result) -> None:
    collected = found.to_result()
    for name in ("per_query", "summary", "ledger", "slices"):
        assert_frame_equal(getattr(collected, name), getattr(expected, name), check_exact=True)
    found.unpersist()


AVERAGES = [
    "precision(average=micro)@10",
    "map(average=geometric)",
    "ndcg(average=weighted, gain=exp2)@10",
    "num_relevant(average=sum)",
]
TOP3 = ((pl.col("rank") <= 3) & pl.col("relevant")).any().alias("top3")


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_every_metric_to_the_last_bit(spark, partitions: int) -> None:
    metrics = [*names_over("judged"), *AVERAGES, TOP3]
    options: Any = {
        "queries": QUERIES,
        "by": ["locale", ("locale", "device")],
        "weight": "weight",
    }
    found = rf.spark.evaluate(
        sent(spark, QRELS), sent(spark, RUN), metrics, partitions=partitions, **options
    )
    assert_same(found, rf.evaluate(QRELS, RUN, metrics, **options))


@pytest.mark.parametrize(
    "options",
    [
        {"ci": "t", "queries": QUERIES.head(100), "by": "device"},
        {"missing": "skip", "no_relevant": "skip", "rel": 2, "ci": None},
        {"judged_only": True, "k_max": 5, "ties": "doc_asc", "seed": 7, "replicates": 200},
    ],
    ids=["t, some queries unknown", "skip", "condensed"],
)
def test_policies_to_the_last_bit(spark, options: Any) -> None:
    metrics = ["ndcg@10", "map", "err@5", "bpref"]
    found = rf.spark.evaluate(sent(spark, QRELS), sent(spark, RUN), metrics, **options)
    assert_same(found, rf.evaluate(QRELS, RUN, metrics, **options))


def test_many_partitions_are_added_up_in_rounds(spark, monkeypatch) -> None:
    monkeypatch.setattr(spark_driver, "_FAN_IN", 3)
    options: Any = {"queries": QUERIES, "by": ["locale", "device"]}
    metrics = ["ndcg@10", "precision(average=micro)@10"]
    both = sent(spark, QRELS), sent(spark, RUN)
    found = rf.spark.evaluate(*both, metrics, partitions=10, **options)
    assert_same(found, rf.evaluate(QRELS, RUN, metrics, **options))


def test_the_driver_gets_no_sums_that_grow_with_the_input(spark, monkeypatch) -> None:
    sizes: list[int] = []
    gathered = spark_driver.gathered

    def weighed(rows: Any) -> Any:
        sizes.append(sum(len(row["rest"]) for row in rows))
        return gathered(rows)

    monkeypatch.setattr(spark_driver, "gathered", weighed)
    run = pl.DataFrame({"query_id": [f"q{n}" for n in range(3000)], "doc_id": "d", "score": 1.0})
    qrels = run.rename({"score": "relevance"})
    for queries in (30, 3000):
        both = sent(spark, qrels.head(queries)), sent(spark, run.head(queries))
        rf.spark.evaluate(*both, ["map"], partitions=2).unpersist()
    assert abs(sizes[1] - sizes[0]) < 100


def test_partitions_follow_from_bytes(spark, monkeypatch) -> None:
    monkeypatch.setattr(on_spark, "_BYTES_PER_PARTITION", 150_000)
    monkeypatch.setattr(on_spark, "_FEWEST_ROWS", 10**9)
    counts = []
    for end in ("", "x" * 100):
        qrels, run = (frame.with_columns(pl.col("doc_id") + end) for frame in (QRELS, RUN))
        found = rf.spark.evaluate(sent(spark, qrels), sent(spark, run), ["map"])
        counts.append(found.per_query.rdd.getNumPartitions())
        found.unpersist()
    assert counts[0] * 150_000 >= QRELS.height * 120 + RUN.height * 140
    assert counts[1] > counts[0]


def test_paths_names_types_and_duplicates(spark, tmp_path: Path) -> None:
    """Parquet paths, columns under other names, whole numbers as ids, numbers as text, a rank."""
    qrels = pl.DataFrame({"user": [1, 1, 2, 3], "item": [10, 11, 10, 12], "rating": [1, 2, 0, 3]})
    run = pl.DataFrame(
        {
            "user": ["1", "1", "2", "2", "2", "9", "9"],
            "item": ["11", "10", "10", "10", "7", "1", "1"],
            "score": [" 1.5", "1.25", "1e-1", "3", "3", "0", "0"],
            "rank": [1, 2, 3, 1, 2, 1, 2],
        }
    )
    qrels.write_parquet(tmp_path / "qrels.parquet")
    run.write_parquet(tmp_path / "run.parquet")
    paths = (tmp_path / "qrels.parquet", str(tmp_path / "run.parquet"))
    options: Any = {"columns": {"relevance": "rating"}, "duplicates": "keep_best"}
    for partitions in (None, 4):
        found = rf.spark.evaluate(
            *paths, ["ndcg@10"], spark=spark, partitions=partitions, **options
        )
        assert_same(found, rf.evaluate(*paths, ["ndcg@10"], **options))


def test_ids_in_folder_names_stay_as_they_are_written(spark, tmp_path: Path) -> None:
    for query, doc in {"1": "b", "01": "a", "007": "a"}.items():
        folder = tmp_path / "run" / f"query_id={query}"
        folder.mkdir(parents=True)
        pl.DataFrame({"doc_id": [doc], "score": [1.0]}).write_parquet(folder / "a.parquet")
    qrels = pl.DataFrame({"query_id": ["1", "007"], "doc_id": "a", "relevance": 1.0})
    found = rf.spark.evaluate(sent(spark, qrels), tmp_path / "run", ["map"])
    assert_same(found, rf.evaluate(qrels, tmp_path / "run", ["map"]))


def test_a_file_that_changed_is_read_again(spark, tmp_path: Path) -> None:
    paths = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    QRELS.write_parquet(paths[0])
    for run in (RUN, RUN.with_columns(-pl.col("score"))):
        run.write_parquet(paths[1])
        found = rf.spark.evaluate(paths[0], paths[1], ["map"], spark=spark, partitions=2)
        assert found.means == rf.evaluate(QRELS, run, ["map"]).means


def test_attributes_may_be_a_spark_frame(spark) -> None:
    known = QUERIES.select("query_id", "device")
    queries = spark.createDataFrame(known.rows(), "query_id string, device string")
    both = sent(spark, QRELS), sent(spark, RUN)
    found = rf.spark.evaluate(*both, ["map"], queries=queries, by="device")
    assert_same(found, rf.evaluate(QRELS, RUN, ["map"], queries=known, by="device"))


def test_agreement_to_the_last_bit(spark) -> None:
    metrics = list(names_over("pair"))
    some: list[Any] = [{}, {"lone": "skip", "missing": "bottom", "ci": "t"}]
    for options in some:
        found = rf.spark.agree(
            sent(spark, QRELS), sent(spark, RUN), metrics, partitions=3, **options
        )
        assert_same(found, rf.agree(QRELS, RUN, metrics, **options))


def test_values_are_evaluated_once(spark, tmp_path: Path) -> None:
    counter = spark.sparkContext.accumulator(0)

    def counted(batches: Any) -> Any:
        for batch in batches:
            counter.add(batch.num_rows)
            yield batch

    run = sent(spark, RUN).coalesce(1).mapInArrow(counted, SCHEMAS["score"])
    result = rf.spark.evaluate(sent(spark, QRELS), run, ["map"], partitions=2)
    assert result.per_query.count() == QRELS["query_id"].n_unique()
    result.write(tmp_path / "out")
    assert counter.value == RUN.height


def test_a_result_is_written_by_the_executors(spark, tmp_path: Path, refusal) -> None:
    metrics = ["ndcg(gain=exp2)@10", "map", "precision@1,5"]
    expected = rf.evaluate(QRELS, RUN, metrics, queries=QUERIES, by="locale")
    result = rf.spark.evaluate(
        sent(spark, QRELS), sent(spark, RUN), metrics, queries=QUERIES, by="locale", partitions=3
    )
    place = tmp_path / "new" / "out"
    result.write(place)
    assert len(list((place / "per_query").glob("*.parquet"))) == 3
    for name in ("summary", "ledger", "slices"):
        stored = pl.read_parquet(place / name / "*.parquet")
        assert_frame_equal(stored, getattr(expected, name), check_exact=True)
    stored = pl.read_parquet(place / "per_query" / "*.parquet").sort("query_id")
    assert_frame_equal(stored, expected.per_query, check_exact=True)
    assert "holds a result already" in refusal(result.write, place)
    result.write(place, overwrite=True)
    # It is read as any other.
    read = rf.Result.read(place)
    for name in ("per_query", "summary", "ledger", "slices"):
        assert_frame_equal(getattr(read, name), getattr(expected, name), check_exact=True)
    assert rf.gate(None, place, expected, "map: no worse than -1%").status == "pass"
    # What Spark did not write is never touched.
    expected.write(tmp_path / "plain")
    mine = tmp_path / "mine" / "summary"
    mine.mkdir(parents=True)
    (mine / "dear.txt").write_text("x")
    for folder, there in (("plain", "summary.parquet"), ("mine", "summary")):
        said = refusal(result.write, tmp_path / folder, overwrite=True)
        assert (
            said
            == f"{tmp_path / folder} holds {there}, which Spark did not write. Nothing written."
        )
    assert not (tmp_path / "mine" / "per_query").exists()
    assert refusal(result.write, "/") == "'/' cannot be a folder for a result."
    file = tmp_path / "file"
    file.write_text("x")
    assert refusal(result.write, file).startswith(f"cannot write {file}")
    # What was written is a stored system as any other.
    compared = rf.compare(None, {"spark": str(place / "per_query"), "here": expected})
    assert compared.table["difference"].drop_nulls().abs().max() == 0
    assert result["map"] == expected["map"]
    assert result.means == expected.means
    assert result.count("queries_evaluated") == expected.count("queries_evaluated")
    assert "map" in repr(result)


# --- what is refused ---


def with_row(frame: pl.DataFrame, *row: Any) -> pl.DataFrame:
    return frame.vstack(pl.DataFrame([row], schema=frame.schema, orient="row"))


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (QRELS, with_row(RUN, "q1", "new", float("nan")),
         "run has 1 row with a NaN score, e.g. query_id 'q1', doc_id 'new'. Give every document "),
        (QRELS, with_row(RUN, "q1", "new", None),
         "run has 1 row with a null score, e.g. query_id 'q1', doc_id 'new'. Give every document "),
        (QRELS, with_row(with_row(RUN, None, "x", 1.0), None, "y", 1.0),
         "run has 2 rows with a null query_id, e.g. doc_id 'x'. Remove them, or give them an id."),
        (QRELS, with_row(RUN, "q1", "", 1.0),
         "run has 1 row with an empty doc_id, e.g. query_id 'q1'. Give them an id."),
        (with_row(QRELS, "q1", "new", float("inf")), RUN,
         "qrels has 1 row with an infinite relevance, e.g. query_id 'q1', doc_id 'new'. Give "),
        (QRELS, pl.concat([RUN, RUN.filter(query_id="q50")]),
         f"run has {RUN.filter(query_id='q50').height} duplicate (query_id, doc_id) pairs, e.g. "),
        (pl.concat([QRELS, QRELS]), pl.concat([RUN, RUN]),
         f"qrels has {QRELS.height:,} duplicate (query_id, doc_id) pairs, e.g. "),
        (QRELS.head(0), RUN, "qrels is empty: the qrels DataFrame has no rows."),
        (QRELS, RUN.head(0), "run is empty: the run DataFrame has no rows."),
        (QRELS, RUN.with_columns(pl.col("query_id") + "x"),
         "no query in the run matches any judgment: run query_ids look like "),
        (QRELS, RUN.with_columns(pl.col("doc_id") + "x"),
         "no document in the run matches any judgment: run doc_ids look like "),
    ],
    ids=["NaN", "null", "null ids", "empty id", "infinite", "duplicates", "both", "no qrels",
         "no run", "no query", "no document"],
)  # fmt: skip
def test_bad_rows_are_refused_as_on_one_machine(spark, qrels, run, message: str, refusal) -> None:
    both = sent(spark, qrels), sent(spark, run)
    said = refusal(rf.spark.evaluate, *both, ["map"], partitions=3)
    assert said.startswith(message)
    with pytest.raises(rf.RankframeError) as caught:
        rf.evaluate(qrels, run, ["map"])
    with pytest.raises(type(caught.value)):
        rf.spark.evaluate(*both, ["map"])


def test_duplicates_of_unjudged_queries_are_refused_in_any_partition(spark, refusal) -> None:
    run = pl.concat([RUN, pl.DataFrame([("z", "d", 1.0)] * 2, schema=RUN.schema, orient="row")])
    said = refusal(rf.spark.evaluate, sent(spark, QRELS), sent(spark, run), "map", partitions=30)
    assert "1 duplicate (query_id, doc_id) pair, e.g. ('z', 'd')." in said


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda run: run, {"ties": "as_given"}, 'ties="as_given" has no meaning on Spark'),
        (lambda run: run.drop("score"), {}, "run has neither a score nor a rank column"),
        (lambda run: run.drop("doc_id"), {}, "run has no doc_id column; it has "),
        (lambda run: run.selectExpr("cast(1.5 as double) query_id", "doc_id", "score"), {},
         "run column 'query_id' has type double; it must hold ids"),
        (lambda run: run.selectExpr("query_id", "array(1) as doc_id", "score"), {},
         "run column 'doc_id' has type List"),
        (lambda run: run.selectExpr("query_id", "doc_id", "'7x' as score"), {},
         f"run has {RUN.height:,} rows with a non-numeric score, e.g. '7x'."),
        (lambda run: run, {"partitions": 0}, "partitions must be a whole number of at least 1"),
        (lambda run: run, {"metrics": "auc(pool=true)"}, "'auc(pool=true)' compares the documents"),
        (lambda run: run, {"metrics": "err(max_grade=2)"}, "'err(max_grade=2)': max_grade is 2"),
        (lambda run: run, {"metrics": "dcg(gain={1:1,2:3})"}, "qrels has "),
        (lambda run: run, {"missing": "error"}, "the run lacks "),
        (lambda run: run, {"columns": {"score": "points"}}, "run has no column 'points'"),
        (lambda _: {"q": {"a": 1.0}}, {}, "cannot read the run dict: Spark takes its DataFrames"),
        (lambda _: "no/such.parquet", {}, "cannot read no/such.parquet: Spark finds no such"),
        (lambda _: __file__, {}, f"cannot read {__file__}: on Spark it must be Parquet."),
        (lambda run: run, {"metrics": ["map", "MAP"]},
         "Spark takes 'map' and 'MAP' for the same column: leave one of them out."),
        (lambda run: run.selectExpr("query_id", "doc_id", "raise_error('no') score"), {},
         "Spark gave up: "),
    ],
)  # fmt: skip
def test_what_is_refused(spark, change: Any, options: Any, message: str, refusal) -> None:
    options = {"metrics": "map", **options}
    said = refusal(rf.spark.evaluate, sent(spark, QRELS), change(sent(spark, RUN)), **options)
    assert said.startswith(message)
    assert "\n" not in said


class Raises:
    """Work that fails where a certain query is."""

    def __init__(self, work: Any) -> None:
        self.work = work

    def piece(self, left: Any, right: Any, *, alone: bool = True) -> Any:
        if "q60" in left["query_id"]:
            raise ZeroDivisionError("by nothing")
        return self.work.piece(left, right, alone=alone)


def test_a_partition_that_raises_names_a_query(spark, monkeypatch, refusal) -> None:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    task = spark_driver.Task
    monkeypatch.setattr(spark_driver, "Task", lambda work, sides: task(Raises(work), sides))  # pyright: ignore[reportArgumentType]
    said = refusal(rf.spark.evaluate, sent(spark, QRELS), sent(spark, RUN), "map", partitions=6)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert said.startswith("a partition with ")
    assert said.endswith("failed: ZeroDivisionError: by nothing")
    assert "one of them '" in said


def test_an_expression_that_fails_is_named(spark, refusal) -> None:
    wrong = pl.col("doc_id").str.to_integer().sum().alias("wrong")
    both = sent(spark, QRELS), sent(spark, RUN)
    said = refusal(rf.spark.evaluate, *both, [wrong], partitions=2)
    assert said.startswith("one of the expressions 'wrong' failed: ")


def test_other_versions_on_executors_are_refused(spark, monkeypatch, refusal) -> None:
    both = sent(spark, QRELS), sent(spark, RUN)
    monkeypatch.setattr(
        spark_driver, "_versions", lambda: {"rankframe": rf.__version__, "polars": "1.0"}
    )
    said = refusal(rf.spark.evaluate, *both, "map")
    assert said.startswith(f"an executor has rankframe {rf.__version__}, polars {pl.__version__}; ")
    monkeypatch.setattr(spark_driver, "_versions", lambda: {"no_such_package": "1.0"})
    assert "an executor has no no_such_package; " in refusal(rf.spark.evaluate, *both, "map")


def test_settings_are_as_they_were(spark) -> None:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    rf.spark.evaluate(sent(spark, QRELS), sent(spark, RUN), "map").unpersist()
    assert spark.conf.get(name) == before


def in_another_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


START = """
import rankframe as rf
try:
    rf.spark.evaluate("a", "b", "map")
except rf.RankframeError as error:
    print(type(error).__name__, error)
"""


def test_without_java_it_says_so(tmp_path: Path) -> None:
    said = in_another_process(START, PATH="/nowhere", JAVA_HOME=str(tmp_path))
    assert said.startswith("SparkError Spark cannot start: it needs a Java runtime")


def test_without_pyspark_it_says_so() -> None:
    said = in_another_process("import sys; sys.modules['pyspark'] = None" + START)
    assert said == (
        "MissingExtraError Spark needs an optional part: pip install 'rankframe[spark]'."
    )


CONNECT = """
import rankframe as rf
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert not hasattr(spark, "_jvm")
qrels, run = (spark.read.parquet(f"{shop}/{name}.parquet") for name in ("qrels", "bm25"))
options = {"queries": f"{shop}/queries.parquet", "by": "locale"}
result = rf.spark.evaluate(qrels, run, ["ndcg@10", "map"], partitions=3, **options)
result.to_result().write(f"{folder}/collected")
result.write(f"{folder}/written")
result.unpersist()
try:
    rf.spark.evaluate(qrels, run.unionAll(run.limit(5)), "map")
except rf.RankframeError as error:
    print(type(error).__name__, error)
padded = rf.spark.evaluate(f"{folder}/qrels.parquet", f"{folder}/run", "map", spark=spark)
print(padded.to_result().per_query.rows())
spark.stop()
"""


def test_spark_connect_gives_the_same_bits_and_errors(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pip install 'pyspark[connect]'")
    pl.DataFrame(
        {"query_id": ["7", "007"], "doc_id": ["a", "a"], "relevance": [1, 1]}
    ).write_parquet(tmp_path / "qrels.parquet")
    run = tmp_path / "run" / "query_id=007"
    run.mkdir(parents=True)
    pl.DataFrame({"doc_id": ["a"], "score": [1.0]}).write_parquet(run / "a.parquet")
    settings = f"shop, folder = {str(SHOP)!r}, {str(tmp_path)!r}\n"
    said = in_another_process(settings + CONNECT, SPARK_LOCAL_IP="127.0.0.1")
    *_, error, padded = said.splitlines()
    assert error.startswith("DuplicateError run has 5 duplicate (query_id, doc_id)")
    assert padded == "[('007', 1.0), ('7', 0.0)]"
    expected = rf.evaluate(
        SHOP / "qrels.parquet",
        SHOP / "bm25.parquet",
        ["ndcg@10", "map"],
        queries=SHOP / "queries.parquet",
        by="locale",
    )
    collected = rf.Result.read(tmp_path / "collected")
    for name in ("per_query", "summary", "ledger", "slices"):
        assert_frame_equal(getattr(collected, name), getattr(expected, name), check_exact=True)
    stored = pl.read_parquet(tmp_path / "written" / "per_query" / "*.parquet").sort("query_id")
    assert_frame_equal(stored, expected.per_query, check_exact=True)


def on_the_command_line(*options: str) -> subprocess.CompletedProcess[str]:
    paths = [str(SHOP / f"{name}.parquet") for name in ("qrels", "bm25")]
    code = "from rankframe.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "evaluate", *paths, "-m", "ndcg@10", *options],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_line_takes_an_engine(tmp_path: Path) -> None:
    here = on_the_command_line("--format", "json", "--per-query", str(tmp_path / "here.parquet"))
    target = str(tmp_path / "spark.parquet")
    there = on_the_command_line(
        *("--format", "json", "--per-query", target, "-o", str(tmp_path / "out")),
        *("--engine", "spark", "--master", "local[2,4]", "--partitions", "2"),
    )
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout
    frames = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("here", "spark")]
    assert_frame_equal(*frames, check_exact=True)
    assert (tmp_path / "out" / "ledger" / "_SUCCESS").exists()


def test_the_command_line_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "per_query").mkdir()
    (tmp_path / "per_query" / "a.parquet").write_text("x")
    spark = ("--engine", "spark", "--master")
    for options, said in (
        ((*spark, "local[2]", "-o", str(tmp_path)), "holds a result already. Pass --overwrite"),
        ((*spark, "nonsense"), "begins with one of local, spark://, yarn, k8s://: not 'nonsense'."),
    ):
        found = on_the_command_line(*options)
        assert found.returncode == 2
        assert said in " ".join(found.stderr.split())
        assert ".scala:" not in found.stderr


def test_the_command_line_refuses_options_of_the_other_engine() -> None:
    said = on_the_command_line("--master", "local")
    assert said.returncode == 2
    assert "--master has no meaning with --engine polars." in " ".join(said.stderr.split())
