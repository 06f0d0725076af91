"""Object stores, for pyarrow and for polars, by the storage options of the user.

Options have the names that polars knows; the environment supplies the missing ones.
"""

from __future__ import annotations

import os
from typing import Any

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.io.storage import storage_options

S3, GOOGLE, AZURE = ("s3", "s3a"), ("gs", "gcs"), ("az", "azure", "abfs", "abfss", "adl")
STORES = (*S3, *GOOGLE, *AZURE)
# How names begin that variables of the environment have, too.
_VENDORS = ("aws_", "google_", "azure_")
# Seconds until somebody must have answered, and how often they are asked.
_CONNECTING, _ANSWERING, _ATTEMPTS = 5, 30, 3
# Options that polars takes as numbers, which a shell cannot give.
_NUMBERS = ("max_retries", "retry_timeout_ms", "retry_init_backoff_ms", "retry_max_backoff_ms")
# Endpoints of S3 that are not Amazon's have no regions, but signatures name one.
_ANY_REGION = "us-east-1"


def file_system(scheme: str, account: str) -> Any:
    """Return pyarrow's file system for a scheme, reached by the storage options in force."""
    if scheme in S3:
        return _s3()
    return _google() if scheme in GOOGLE else _azure(account)


def polars_options(scheme: str) -> dict[str, Any]:
    """Return the storage options for polars; S3 takes missing ones from the environment."""
    options = {name: _as_taken(name, value) for name, value in storage_options().items()}
    if scheme in S3:
        if endpoint := endpoint_of_s3():
            options = {"aws_region": region_of_s3() or _ANY_REGION, **options}
            options = {
                name: value for name, value in options.items() if "endpoint" not in name.lower()
            }
            options["aws_endpoint_url"] = endpoint
        options = {**credentials_of_s3(), **options}
    return options


def _as_taken(name: str, value: Any) -> str | int:
    """Return an option as text, or as a number if polars itself reads it."""
    if name not in _NUMBERS:
        return str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return int(value)
    except ValueError as error:
        raise OptionError(
            Option("storage_options"), f" takes a whole number for {name}."
        ) from error


def polars_arguments(scheme: str) -> dict[str, Any]:
    """Return the arguments with which functions of polars read at such an address."""
    options = polars_options(scheme)
    return {"storage_options": options} if options else {}


def option_of(*names: str) -> str | None:
    """Return an option under any of its names, else from the environment."""
    options = {key.lower(): value for key, value in storage_options().items()}
    found = [options[name] for name in names if name in options]
    variables = (os.environ.get(name.upper()) for name in names if name.startswith(_VENDORS))
    found += [setting for setting in variables if setting]
    return str(found[0]) if found else None


def endpoint_of_s3() -> str | None:
    """Return the endpoint of S3; None for Amazon's."""
    names = ("aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint", "endpoint_url", "endpoint")
    return option_of(*names)


def region_of_s3() -> str | None:
    """Return the region of S3, if it is configured."""
    return option_of("aws_region", "region", "aws_default_region", "default_region")


def credentials_of_s3() -> dict[str, str]:
    """Return the keys of S3, under the names of polars; nothing for public data."""
    if _is_true(option_of("aws_skip_signature", "skip_signature")):
        return {"aws_skip_signature": "true"}
    keys = {
        "aws_access_key_id": option_of("aws_access_key_id", "access_key_id"),
        "aws_secret_access_key": option_of("aws_secret_access_key", "secret_access_key"),
        "aws_session_token": option_of("aws_session_token", "session_token", "aws_token"),
    }
    if not (keys["aws_access_key_id"] and keys["aws_secret_access_key"]):
        return {}
    return {name: value for name, value in keys.items() if value}


def _s3() -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem  # noqa: PLC0415

    if "aws_profile" in storage_options():
        raise OptionError(
            Option("storage_options"), " cannot name a profile: set AWS_PROFILE in the environment."
        )
    keys = credentials_of_s3()
    virtual = option_of("aws_virtual_hosted_style_request", "virtual_hosted_style_request")
    arguments = {
        "access_key": keys.get("aws_access_key_id"),
        "secret_key": keys.get("aws_secret_access_key"),
        "session_token": keys.get("aws_session_token"),
        "region": region_of_s3(),
        "endpoint_override": endpoint_of_s3(),
        "anonymous": "aws_skip_signature" in keys or None,
        "force_virtual_addressing": _is_true(virtual) or None,
    }
    return S3FileSystem(
        connect_timeout=_CONNECTING,
        request_timeout=_ANSWERING,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        **{name: value for name, value in arguments.items() if value is not None},
    )


def _google() -> Any:
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    from pyarrow.fs import GcsFileSystem  # noqa: PLC0415

    token = option_of("bearer_token", "google_bearer_token")
    file = ("google_service_account", "service_account", "google_service_account_path",
            "google_service_account_key", "google_application_credentials")  # fmt: skip
    if token is None and any(name in storage_options() for name in file):
        raise OptionError(
            Option("storage_options"),
            " cannot name the key of a service account: set GOOGLE_APPLICATION_CREDENTIALS in the "
            "environment to its file.",
        )
    limit = timedelta(seconds=_ANSWERING)
    if token is not None:
        ends = datetime.now(UTC) + timedelta(hours=1)
        return GcsFileSystem(
            access_token=token, credential_token_expiration=ends, retry_time_limit=limit
        )
    anonymous = _is_true(option_of("google_skip_signature", "skip_signature"))
    return GcsFileSystem(anonymous=anonymous, retry_time_limit=limit)


def _azure(account: str) -> Any:
    from pyarrow.fs import AzureFileSystem  # noqa: PLC0415

    name = account.split(".", maxsplit=1)[0] or option_of(
        "azure_storage_account_name", "account_name"
    )
    if not name:
        raise OptionError(
            "an address of Azure needs the name of an account: pass ",
            Option("storage_options", {"account_name": "…"}),
            ", or set AZURE_STORAGE_ACCOUNT_NAME in the environment.",
        )
    arguments = {
        "account_key": option_of("azure_storage_account_key", "account_key", "access_key"),
        "sas_token": option_of(
            "azure_storage_sas_token", "azure_storage_sas_key", "sas_token", "sas_key"
        ),
        "tenant_id": option_of("azure_storage_tenant_id", "azure_tenant_id", "tenant_id"),
        "client_id": option_of("azure_storage_client_id", "azure_client_id", "client_id"),
        "client_secret": option_of(
            "azure_storage_client_secret", "azure_client_secret", "client_secret"
        ),
    }
    return AzureFileSystem(name, **{key: value for key, value in arguments.items() if value})


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "1", "yes", "on")
