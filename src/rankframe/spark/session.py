"""Find or start sessions of Spark, change their settings, and raise their errors in one line."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.core.errors import MissingExtraError, OptionError, SparkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MASTERS = ("local", "spark://", "yarn", "k8s://")


def find_session(spark: SparkSession | None, sources: Sequence[object]) -> SparkSession:
    """Return the given session, the session of the inputs, the active session, or a new one."""
    load_pyspark()
    from pyspark.sql import SparkSession  # noqa: PLC0415

    if spark is not None:
        return spark
    for source in sources:
        if is_spark_frame(source):
            return source.sparkSession  # pyright: ignore[reportAttributeAccessIssue]
    return SparkSession.getActiveSession() or start_session()


def start_session(
    master: str | None = None, *, progress: bool = False, log_level: str | None = None
) -> SparkSession:
    """Start a session with this master, or with the settings of the environment.

    `progress`: whether Spark shows the progress of its stages on standard error.
    """
    load_pyspark()
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # Each core has its own Python worker.
    builder = (
        SparkSession.builder.appName("rankframe")
        .config("spark.executorEnv.POLARS_MAX_THREADS", "1")
        .config("spark.ui.showConsoleProgress", str(progress).lower())
    )
    if log_level is not None:
        builder = builder.config("spark.log.level", log_level)
    if master is not None:
        if not master.startswith(_MASTERS):
            masters = ", ".join(_MASTERS)
            raise OptionError(f"a master of Spark begins with one of {masters}: not {master!r}.")
        builder = builder.master(master)
        if master.startswith("local"):  # local workers must use the Python that has rankframe
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 (any error of the JVM)
        unreached = f"Spark does not reach its master, {master or 'the default'}."
        if "JAVA_GATEWAY_EXITED" in str(error):
            raise SparkError(_not_started(master)) from None
        if "stopped SparkContext" in str(error):
            raise SparkError(unreached) from None
        raise _reworded(error) from None


def _not_started(master: str | None) -> str:
    """Return the error text for a session that did not start."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None):
        tried = f" with master {master!r}" if master else ""
        return f"Spark cannot start{tried}: what it printed on standard error says why."
    return (
        "Spark cannot start: it needs a Java runtime, version 17 or newer. "
        "Install one (Debian: default-jre-headless), or set JAVA_HOME."
    )


def load_pyspark() -> None:
    """Import pyspark, or raise an error that says what to install."""
    try:
        import pyarrow  # noqa: F401, PLC0415
        import pyspark  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError("Spark", "spark") from error


@contextmanager
def spark_errors() -> Iterator[None]:
    """Raise errors of Spark as a `SparkError` of one line, instead of a Java trace."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 (pyspark brings it)
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _reworded(error) from None


def first_row(frame: DataFrame) -> Sequence[Any]:
    """Run an aggregation on the cluster, and return its only row."""
    with spark_errors():
        return frame.collect()[0]


def collect(frame: Any) -> pl.DataFrame:
    """Bring a Spark DataFrame to this machine."""
    with spark_errors():
        return pl.DataFrame(frame.toArrow())


def quoted(name: str) -> str:
    """Quote the name of a column for SQL."""
    return "`" + name.replace("`", "``") + "`"


def is_spark_frame(source: object) -> bool:
    """Return whether an object is a Spark DataFrame, of a classic session or of Spark Connect."""
    return hasattr(source, "mapInArrow") and hasattr(source, "sparkSession")


@contextmanager
def settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session until the block ends."""
    before = {name: session.conf.get(name, None) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def _reworded(error: Exception) -> SparkError:
    """Extract the cause from a Python or Java stack trace, and return it as a one-line error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = lines[0] if lines else type(error).__name__
    # The last line is the exception (a trace from Python) or the root cause (a trace from Java).
    raised = [line for line in lines if line.split(":")[0].endswith("Error") and " " in line]
    caused = [line for line in lines if line.startswith(("Caused by: ", ": "))]
    if raised and any("Traceback" in line for line in lines):
        message = raised[-1]
    elif message.startswith("An error occurred while calling") and caused:
        message = re.sub(r"^(Caused by)?: ?(\w+\.)+\w+: ", "", caused[-1])
    advice = ""
    if "No module named" in message:
        advice = (
            ". The Python of an executor (PYSPARK_PYTHON) lacks it: pip install 'rankframe[spark]'"
        )
    return SparkError(f"Spark gave up: {message.rstrip('.')}{advice}.")
