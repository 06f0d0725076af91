"""Provide a PostgreSQL server on this machine: a given one, or one started for the tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GIVEN = "RANKFRAME_POSTGRES"
USER, PASSWORD = "ann", "s3cr-t:word"


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def serving() -> Iterator[str]:
    """Yield the address of a database in which tests may create tables."""
    if given := os.environ.get(GIVEN):
        yield given
        return
    where = programs()
    assert where is not None  # whoever asks has looked
    folder = Path(tempfile.mkdtemp(prefix="rankframe-postgres-"))
    # It refuses to be started by root.
    become: dict[str, Any] = (
        {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    )
    try:
        (folder / "word").write_text(PASSWORD)
        for one in (folder, folder / "word") if become else ():
            shutil.chown(one, "postgres")
        subprocess.run(
            [where / "initdb", "-D", folder / "data", "-U", USER, "--no-sync",
             "-A", "scram-sha-256", f"--pwfile={folder / 'word'}"],
            check=True, capture_output=True, cwd=folder, **become,
        )  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with (folder / "log").open("wb") as log, subprocess.Popen(
            [where / "postgres", "-D", folder / "data", "-p", str(port),
             "-h", "127.0.0.1", "-k", folder, "-c", "fsync=off"],
            stdout=log, stderr=log, cwd=folder, **become,
        ) as process:  # fmt: skip
            try:
                _wait(where / "pg_isready", port)
                word = PASSWORD.replace(":", "%3A")
                yield f"postgresql://{USER}:{word}@127.0.0.1:{port}/postgres"
            finally:
                process.send_signal(signal.SIGINT)  # ends at once, whoever is connected
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(ready: Path, port: int) -> None:
    """Wait until the server accepts connections: before that, it listens but refuses them."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        asked = [ready, "-q", "-h", "127.0.0.1", "-p", str(port)]
        if subprocess.run(asked, check=False, capture_output=True).returncode == 0:
            return
        time.sleep(0.05)
    raise AssertionError("PostgreSQL does not answer")
