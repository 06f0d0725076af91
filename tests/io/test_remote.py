"""Files and folders at an address, on a real server of S3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankframe.core.options import reached_with
from rankframe.io.remote import Remote, explained, is_address, scheme_of


@pytest.fixture(scope="module")
def there(s3: Any) -> Remote:
    """A folder with some files."""
    for name in ("a.txt", "b.txt", "deep/c.txt", "deep/er/d.csv", "x[1].txt"):
        s3.put(f"remote/{name}", name.encode())
    with reached_with(s3.options):
        return Remote.at("s3://shop/remote/")


def test_an_address_is_read_and_written_alike() -> None:
    with reached_with({"aws_skip_signature": "true", "aws_region": "x", "account_name": "ann"}):
        for text in ("s3://shop/a/b", "abfss://box@ann.dfs.core.windows.net/a/b"):
            assert str(Remote.at(text)) == str(Remote.at(Path(text))) == text
            assert Remote.at(text).name == "b"
    assert (is_address("runs:2026/a"), is_address("C:/x"), scheme_of("S3://x")) == (
        False, False, "s3",
    )  # fmt: skip


def test_it_is_asked_as_a_path_is(there: Remote) -> None:
    assert there.exists()
    assert there.is_dir()
    assert [one.name for one in there.iterdir()] == ["a.txt", "b.txt", "deep", "x[1].txt"]
    file = there / "deep" / "c.txt"
    assert (file.exists(), file.is_dir(), file.size(), file.suffix) == (True, False, 10, ".txt")
    assert not (there / "none").exists()
    assert (there / "none").files() == {}
    assert file.read() == b"deep/c.txt"
    assert file.head(4) == b"deep"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.txt", ["a.txt", "b.txt", "x[1].txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "deep/c.txt", "x[1].txt"]),
        ("deep/**", ["deep/c.txt", "deep/er/d.csv"]),
        ("[!a].txt", ["b.txt"]),
        ("?.txt", ["a.txt", "b.txt"]),
        ("*.md", []),
    ],
)
def test_patterns(there: Remote, pattern: str, found: list[str]) -> None:
    assert [str(one) for one in there.glob(pattern)] == [f"s3://shop/remote/{n}" for n in found]


def test_what_is_sent_is_there_whole_and_its_state_differs(there: Remote, tmp_path: Path) -> None:
    source, target = tmp_path / "x", there / "sent" / "x.bin"
    before = there.state()
    source.write_bytes(b"one")
    target.put(source)
    first = there.state()
    source.write_bytes(b"two")  # as long, in the same second
    target.put(source)
    assert target.read() == b"two"
    assert len({before, first, there.state()}) == 3
    target.remove()
    assert there.state() == before


def test_what_cannot_be_sent_leaves_what_was_there(
    there: Remote, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "x", there / "old"
    source.write_bytes(b"old")
    target.put(source)
    monkeypatch.setattr(s3, "fails", "/shop/remote/old")
    source.write_bytes(b"new")
    with pytest.raises(OSError, match="old"):
        target.put(source)
    assert target.read() == b"old"
    monkeypatch.undo()
    target.remove()


def test_a_large_file_is_sent_in_parts(there: Remote, tmp_path: Path) -> None:
    source = tmp_path / "x"
    source.write_bytes(bytes(range(256)) * 43_000)
    (there / "large").put(source)
    assert (there / "large").read() == source.read_bytes()
    (there / "large").remove()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: The", "there is no bucket 'b'"),
        ("AWS Error ACCESS_DENIED during HeadObject operation: No response body", "no permission"),
        ("Error performing PUT http://169.254.169.254/latest/api/token in 5ms - timed out",
         "no credentials were found for it"),
        ("<Code>SignatureDoesNotMatch</Code>", "its credentials are wrong, or have expired"),
        ("curlCode: 6, Could not resolve hostname", "its host at http://e is not known"),
        ("client error (Connect) 1: dns error", "its host at http://e is not known: no network"),
        ("Connection refused (os error 111)", "nobody answers at http://e: no network, or a wrong"),
        ("curlCode: 28, Timeout was reached", "there was no answer in time at http://e"),
        ("[Errno 2] Path does not exist 'b/timeout'. Detail: [errno 2]", "there is nothing there"),
        ("something new about s3://u:pw@x", "something new about s3://x"),
    ],
)  # fmt: skip
def test_what_a_failure_means(error: str, said: str) -> None:
    with reached_with({"endpoint_url": "http://e"}):
        problem, advice = explained("s3://b/timeout/forbidden.parquet", OSError(error))
    assert problem.startswith(said)
    assert ("AWS_ACCESS_KEY_ID" in advice) == ("credentials" in said or said == "no permission")
