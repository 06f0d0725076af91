"""Provide a pytest plugin that stores error messages in tests/messages, a file per test package.

The fixture `message` compares a text with the stored one. A file reads

    == formats/test_numbers.py

    test_a_bad_score[csv]
    test_a_bad_score[tsv] #2
        BadValueError: run has 1 row with a NaN score, ...

Key lines are the test, its parameters and, from the second message on, a number. Several keys share
a text; a key without parameters stands for all parameters that have no key of their own. `[...]` in
a text stands for anything: write it where a message varies, and updates keep it.
"""

from __future__ import annotations

import difflib
import os
import re
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_SCRATCH = re.escape(os.path.realpath(tempfile.gettempdir()))
PROPERTY, ANYTHING, INDENT = "message", "[...]", "    "
LONGEST = 120
HEADER = (
    "Messages of tests/{0}. Edit them here, or rewrite them: pytest tests/{0} --update-messages\n"
)

# By test file, as in "io/formats/test_numbers.py", and by key.
Texts = dict[str, dict[str, str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-messages",
        action="store_true",
        help="write the messages of errors and warnings into tests/messages, to be read as a diff",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(MessageFiles(config))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name small dictionaries and lists by their values, not by their place among parameters."""
    return plain_id(val)


@pytest.fixture
def message(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Messages:
    """Return a callable that compares a text with the stored one of this test."""
    package = place(request.node.nodeid)[0].split("/")[0]
    stored = read(folder_of(request.config), package)
    return Messages(request.node, stored, tmp_path_factory.getbasetemp())


def folder_of(config: pytest.Config) -> Path:
    """Return the folder of stored messages."""
    return config.rootpath / "tests" / "messages"


def normalised(text: str, root: Path, folders: Path) -> str:
    """Replace what differs between runs: temporary folders, addresses, ports.

    `folders`: where pytest makes the folder of each test.
    """
    text = re.sub(rf"{re.escape(str(folders))}/[\w-]+", "TMP", text).replace(str(root), "ROOT")
    text = re.sub(rf"{_SCRATCH}(?=[\s.'\"]|$)", "SCRATCH", text)
    text = re.sub(r"\b0x[0-9a-fA-F]{6,}", "0xADDRESS", text)
    text = re.sub(r"(?<=[\w.])(:|\", port )\d{4,5}\b", r"\1PORT", text)
    text = "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text.strip() or "(empty)"
    )
    return "\n".join(line.rstrip() for line in text.split("\n"))


def matches(stored: str, text: str) -> bool:
    """Compare a message with a stored one, in which `[...]` stands for anything."""
    parts = map(re.escape, stored.split(ANYTHING))
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None


def place(nodeid: str) -> tuple[str, str]:
    """Return the test file below tests/ and the key of a test."""
    path, _, test = nodeid.partition("::")
    if len(test) > LONGEST:
        test = f"{test[: LONGEST - 10]}…{zlib.crc32(test.encode()):08x}]"
    return path.removeprefix("tests/"), test


def numbered(test: str, number: int) -> str:
    return test if number == 1 else f"{test} #{number}"


def without_parameters(key: str) -> str:
    """Return the key that stands for a test with any parameters."""
    test, _, number = key.rpartition(" #") if re.search(r" #\d+$", key) else (key, "", "1")
    return numbered(test.split("[")[0], int(number))


def look_up(texts: Mapping[str, str], key: str) -> str | None:
    return texts.get(key, texts.get(without_parameters(key)))


@cache
def read(folder: Path, package: str) -> Texts:
    """Read the stored messages of a test package."""
    path = folder / f"{package}.txt"
    texts: Texts = defaultdict(dict)
    if not path.exists():
        return texts
    file, keys, body = "", [], []

    def finish() -> None:
        text = "\n".join(body).strip("\n")
        texts[file].update(dict.fromkeys(keys, text))
        keys.clear()
        body.clear()

    for line in path.read_text(encoding="utf-8").split("\n")[1:]:
        if line and not line.startswith(INDENT):
            if body:
                finish()
            if line.startswith("== "):
                file = f"{package}/{line.removeprefix('== ')}"
            else:
                keys.append(line)
        elif keys and (line or body):
            body.append(line.removeprefix(INDENT))
    finish()
    texts.pop("", None)
    return texts


def write(folder: Path, package: str, texts: Texts) -> None:
    """Write the messages of a test package."""
    blocks = [HEADER.format(package)]
    for file in sorted(file for file in texts if texts[file]):
        blocks.append(f"== {file.removeprefix(f'{package}/')}\n")
        by_text: dict[str, list[str]] = defaultdict(list)
        for key in sorted(texts[file], key=_natural):
            by_text[texts[file][key]].append(key)
        for text, keys in by_text.items():
            body = [f"{INDENT}{line}".rstrip() for line in text.split("\n")]
            blocks.append("\n".join([*keys, *body]) + "\n")
    path = folder / f"{package}.txt"
    if len(blocks) > 1:
        folder.mkdir(exist_ok=True)
        path.write_text("\n".join(blocks), encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def _natural(key: str) -> list[tuple[int, str]]:
    return [
        (int(part or 0), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", key)
    ]


class Messages:
    """Compare the messages of one test with the stored ones, or record them for an update."""

    def __init__(self, node: pytest.Item, stored: Texts, folders: Path) -> None:
        self.node, self.folders, self.count = node, folders, 0
        self.file, self.test = place(node.nodeid)
        self.stored = stored.get(self.file, {})
        self.update = bool(node.config.getoption("update_messages"))

    def __call__(self, text: str | Sequence[str]) -> Any:
        """Check that a text, or lines of text, equal the stored message, and return them."""
        self.count += 1
        key = numbered(self.test, self.count)
        lines = text if isinstance(text, str) else "\n".join(text)
        now = normalised(lines, self.node.config.rootpath, self.folders)
        stored = look_up(self.stored, key)
        if stored is not None and matches(stored, now):
            now = stored
        elif not self.update:
            before = [] if stored is None else stored.splitlines()
            changes = difflib.ndiff(before, now.splitlines())
            pytest.fail(
                f"{'no message is' if stored is None else 'another message is'} stored for {key}:\n"
                + "\n".join(line.rstrip() for line in changes)
                + f"\nIf the message is right: pytest --update-messages {self.node.nodeid!r}"
            )
        self.node.user_properties.append((PROPERTY, f"{key}\n{now}"))
        return text


class MessageFiles:
    """Collect the messages of all workers: update the files, or report stale entries.

    A test that was skipped or failed keeps its entries, and so does one that was not selected.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.update, self.folder = config.getoption("update_messages"), folder_of(config)
        selected = ("keyword", "markexpr", "lf", "failedfirst", "maxfail", "deselect")
        self.whole_files = not (
            any(config.getoption(name, None) for name in selected)
            or any("::" in argument for argument in config.args)
            or not config.getoption("all", True)
        )
        self.recorded: Texts = defaultdict(dict)
        self.tests: dict[str, dict[str, bool]] = defaultdict(dict)
        self.stale: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, test = place(report.nodeid)
        if not report.nodeid.startswith("tests/"):
            return
        passed = report.when == "call" and report.passed
        self.tests[file][test] = passed or self.tests[file].get(test, False)
        if passed:
            pairs = [
                str(text).split("\n", 1)
                for name, text in report.user_properties
                if name == PROPERTY
            ]
            self.recorded[file].update((key, text) for key, text in pairs)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        finished = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if not finished or session.config.option.collectonly:
            return
        for package in sorted({file.split("/")[0] for file in self.tests}):
            stored = read(self.folder, package)
            files = sorted(
                file for file in {*stored, *self.tests} if file.startswith(f"{package}/")
            )
            kept = {file: self._kept(file, stored.get(file, {})) for file in files}
            if self.update:
                write(
                    self.folder, package, {file: self._updated(file, kept[file]) for file in files}
                )
                continue
            self.stale += [
                f"{file}::{key}"
                for file in files
                for key in stored.get(file, {}).keys() - kept[file] - self._used(file, stored[file])
            ]
        if self.stale and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.stale:
            terminalreporter.section("messages of no test: pytest --update-messages removes them")
            for key in self.stale:
                terminalreporter.line(key)

    def _kept(self, file: str, stored: dict[str, str]) -> dict[str, str]:
        """Return the stored messages of a file whose tests did not run in this session."""
        tests = self.tests.get(file)
        if tests is None:
            return stored if (self.folder.parent / file).exists() else {}
        kept = {}
        for key, text in stored.items():
            test = re.sub(r" #\d+$", "", key)
            # A key without parameters is of all tests with parameters.
            named = [name for name in tests if name == test or name.startswith(f"{test}[")]
            unknown = test not in tests and not self.whole_files
            if unknown or not all(tests[name] for name in named):
                kept[key] = text
        return kept

    def _used(self, file: str, stored: dict[str, str]) -> set[str]:
        """Return the keys of the stored messages that tests of this session compared."""
        return {key if key in stored else without_parameters(key) for key in self.recorded[file]}

    def _updated(self, file: str, kept: dict[str, str]) -> dict[str, str]:
        """Return the messages to store for a test file after this session."""
        recorded = self.recorded.get(file, {})
        if self.whole_files:
            return dict(_collapsed(kept | recorded))
        return kept | {key: text for key, text in recorded.items() if look_up(kept, key) != text}


def _collapsed(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield one key for all parameters of a test if their messages are the same."""
    by_function: dict[str, dict[str, str]] = defaultdict(dict)
    for key, text in texts.items():
        by_function[without_parameters(key)][key] = text
    for function, keys in by_function.items():
        if len(set(keys.values())) == 1:
            yield function, next(iter(keys.values()))
        else:
            yield from keys.items()


def plain_id(value: object) -> str | None:
    """Return the id of a parameter that is a container of plain values, if it is short."""
    if isinstance(value, dict | list | tuple) and _is_plain(value):
        text = repr(value)
        return text if len(text) <= 60 else None
    return None


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return _all_plain(value) and _all_plain(value.values())
    if isinstance(value, list | tuple):
        return _all_plain(value)
    return value is None or type(value) in (str, bool, int, float)


def _all_plain(values: Iterable[object]) -> bool:
    return all(map(_is_plain, values))
