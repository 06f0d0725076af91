"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.shell import rankframe
from tests.support.messages import Messages


@pytest.fixture
def refused(message: Messages) -> Callable[..., str]:
    """Call a command that must fail with one line, compared with the stored one, and return it."""

    def call(*args: object, stdin: bytes | None = None) -> str:
        code, out, err = rankframe(*args, stdin=stdin)
        assert (code, out) == (2, "")
        assert err.startswith("rankframe: ")
        assert err.count("\n") == 1
        return message(err)

    return call
