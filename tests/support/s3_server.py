"""Run an S3 server (moto) on this machine, and log the requests that it gets."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from pyarrow.fs import S3FileSystem

BUCKET = "shop"


@dataclass
class S3:
    """Hold the address of the S3 server, and the requests that it got."""

    endpoint: str
    # method, path with its query, bytes sent back
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    # what it fails to take
    fails: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """Return the storage options with which polars reaches the server."""
        return {
            "aws_access_key_id": "ann",
            "aws_secret_access_key": "s3cret",
            "aws_region": "us-east-1",
            "endpoint_url": self.endpoint,
        }

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables with which AWS libraries reach the server."""
        return {
            "AWS_ACCESS_KEY_ID": "ann",
            "AWS_SECRET_ACCESS_KEY": "s3cret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint,
        }

    @property
    def system(self) -> S3FileSystem:
        return S3FileSystem(
            access_key="ann", secret_key="s3cret", region="us-east-1",
            endpoint_override=self.endpoint, allow_bucket_creation=True,
        )  # fmt: skip

    def put(self, key: str, content: bytes | pl.DataFrame, **options: Any) -> str:
        """Store an object in the bucket, and return its address."""
        if isinstance(content, pl.DataFrame):
            held = io.BytesIO()
            content.write_parquet(held, **options)
            content = held.getvalue()
        with self.system.open_output_stream(f"{BUCKET}/{key}", compression=None) as file:
            file.write(content)
        return f"s3://{BUCKET}/{key}"

    def read(self, key: str) -> bytes:
        with self.system.open_input_stream(f"{BUCKET}/{key}", compression=None) as file:
            return file.read()

    def keys(self, prefix: str) -> list[str]:
        from pyarrow.fs import FileSelector

        every = self.system.get_file_info(
            FileSelector(f"{BUCKET}/{prefix}", recursive=True, allow_not_found=True)
        )
        start = len(BUCKET) + len(prefix) + 2
        return sorted(one.path[start:] for one in every if one.is_file)

    def fetched(self, key: str) -> int:
        """Return how many bytes of an object the server has sent."""
        path = f"/{BUCKET}/{key}"
        return sum(size for method, asked, size in self.asked if method == "GET" and asked == path)


@contextmanager
def serving() -> Iterator[S3]:
    """Yield a running S3 server with one bucket."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    application = DomainDispatcherApplication(create_backend_app)
    server = S3("")

    def noting(environ: dict[str, Any], start: Any) -> Any:
        if environ["REQUEST_METHOD"] == "PUT" and server.fails == environ["PATH_INFO"]:
            start("500 Internal Server Error", [])
            return []
        answer = list(application(environ, start))
        path = environ["PATH_INFO"]
        query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        server.asked.append((environ["REQUEST_METHOD"], path + query, sum(map(len, answer))))
        return answer

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002
            pass

    made = make_server("127.0.0.1", 0, noting, threaded=True, request_handler=Quiet)
    server.endpoint = f"http://127.0.0.1:{made.server_port}"
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        server.system.create_dir(BUCKET)
        yield server
    finally:
        made.shutdown()
        made.server_close()
        thread.join()
