"""Options as polars has them → file systems of pyarrow; the environment says the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pyarrow.fs import AzureFileSystem, GcsFileSystem, S3FileSystem

from rankframe.core.options import reached_with
from rankframe.io.remote import credentials_of_s3, file_system, setting


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION",
                 "AWS_DEFAULT_REGION", "AZURE_STORAGE_ACCOUNT_NAME"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def test_what_is_given_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "there")
    monkeypatch.setenv("REGION", "of something else")
    assert setting("region") == "there"
    with reached_with({"Region": "here"}):
        assert setting("region") == "here"


def test_the_endpoint_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    assert setting("endpoint") is None
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://a")
    assert setting("endpoint") == "http://a"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://b")
    assert setting("endpoint") == "http://b"
    with reached_with({"endpoint_url": "http://c"}):
        assert setting("endpoint") == "http://c"


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({}, {}),
        ({"access_key_id": "a"}, {}),
        (
            {"access_key_id": "a", "aws_secret_access_key": "b"},
            {"aws_access_key_id": "a", "aws_secret_access_key": "b"},
        ),
        (
            {"aws_skip_signature": True, "aws_access_key_id": "a", "aws_secret_access_key": "b"},
            {"aws_skip_signature": "true"},
        ),
    ],
)
def test_keys_come_in_pairs_or_not_at_all(given: dict[str, Any], keys: dict[str, str]) -> None:
    with reached_with(given):
        assert credentials_of_s3() == keys


@pytest.mark.parametrize(
    ("scheme", "given", "kind"),
    [
        ("s3", {"aws_region": "eu-west-1", "aws_skip_signature": "true"}, S3FileSystem),
        ("gs", {"google_skip_signature": "true"}, GcsFileSystem),
        ("gcs", {"bearer_token": "abc"}, GcsFileSystem),
        ("az", {"account_name": "ann", "account_key": "a2V5"}, AzureFileSystem),
    ],
)
def test_every_kind_of_address_has_its_file_system(
    scheme: str, given: dict[str, str], kind: type
) -> None:
    with reached_with(given):
        assert isinstance(file_system(scheme, ""), kind)


def test_the_account_may_stand_in_the_address(refusal) -> None:
    assert isinstance(file_system("abfss", "ann.dfs.core.windows.net"), AzureFileSystem)
    refusal(file_system, "az", "")


@pytest.mark.parametrize(
    ("scheme", "given"),
    [("s3", {"aws_profile": "work"}), ("gs", {"service_account": "key.json"})],
)
def test_what_only_the_environment_can_say(scheme: str, given: dict[str, str], refusal) -> None:
    with reached_with(given):
        refusal(file_system, scheme, "")
