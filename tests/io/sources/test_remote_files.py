"""What polars and urllib are told of an address, and what is fetched of the web."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import reached_with
from rankframe.io.remote import polars_options
from rankframe.io.sources import web as web_files
from rankframe.io.sources.files import (
    scan_files,
)

HELD: dict[str, bytes] = {}


class _Handler(BaseHTTPRequestHandler):
    """Gives what is held, whole or the stretch that is asked for; else says why not."""

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        content = HELD.get(path)
        if content is None:
            self.send_error({"/secret": 403}.get(path, 404))
            return
        asked = self.headers.get("Range") if path != "/whole.parquet" else None
        part = content
        if asked:
            start, _, end = asked.removeprefix("bytes=").partition("-")
            if start:
                first, last = int(start), min(int(end or len(content)), len(content) - 1)
            else:
                first, last = max(len(content) - int(end), 0), len(content) - 1
            part = content[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(part)

    do_HEAD = do_GET  # noqa: N815 (as http.server calls it)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """A server of the web."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_files_of_the_web(web: str, qrels: pl.DataFrame, run: pl.DataFrame, tmp_path) -> None:
    qrels.write_parquet(tmp_path / "q")
    HELD["/q.parquet"] = HELD["/whole.parquet"] = (tmp_path / "q").read_bytes()
    HELD["/run.csv"] = HELD["/download"] = run.write_csv().encode()
    wanted = rf.evaluate(qrels, run, "ndcg@10")["ndcg@10"]
    for name in ("run.csv", "download?file=run&sig=abc"):
        assert rf.evaluate(f"{web}/q.parquet", f"{web}/{name}", "ndcg@10")["ndcg@10"] == wanted
    assert rf.evaluate(f"{web}/whole.parquet", run, "ndcg@10")["ndcg@10"] == wanted
    assert web_files.serves_parts(f"{web}/q.parquet", "it")
    assert not web_files.serves_parts(f"{web}/whole.parquet", "it")


def test_what_the_web_does_not_give_is_said(web: str, run: pl.DataFrame, refusal) -> None:
    refusal(rf.evaluate, f"{web}/none.csv", run)
    refusal(rf.evaluate, f"{web}/none.parquet", run)
    refusal(rf.evaluate, "http://ann:word@x.org:y/r.csv", run)
    refusal(web_files.fetch, f"{web}/secret", "it")
    refusal(web_files.fetch, "http://127.0.0.1:9/x.csv", "it")
    refusal(rf.evaluate, f"{web}/none.csv?X-Amz-Signature=abc&token=def&page=2", run)


@pytest.mark.parametrize(
    "address",
    [
        "s4://b/x",
        "htps://x/y",
        "postgre://h/db",
        "q://x",
    ],
)
def test_an_address_that_nobody_knows(address: str, refusal) -> None:
    if address == "q://x":
        address = "xyzzy://x"
    refusal(rf.evaluate, address, {"q": {"a": 1.0}})


def test_polars_is_told_what_the_environment_says_of_s3(monkeypatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    assert polars_options("s3") == keys
    assert polars_options("gs") == {}
    with reached_with({"endpoint": "http://e", "aws_allow_http": True, "max_retries": "3"}):
        assert polars_options("s3") == {
            **keys, "aws_endpoint_url": "http://e", "aws_region": "us-east-1",
            "aws_allow_http": "true", "max_retries": 3,
        }  # fmt: skip


def test_numbers_must_be_numbers(refusal) -> None:
    with reached_with({"max_retries": "many"}):
        refusal(polars_options, "s3")


def test_parquet_is_read_as_its_files_were_found(s3, qrels: pl.DataFrame) -> None:
    from rankframe.io.remote import Remote

    s3.put("addresses/a.parquet", qrels)
    with reached_with(s3.options):
        found = Remote.at("s3://shop/addresses/a.parquet")
    assert scan_files([found, found]).collect().height == 2 * qrels.height
