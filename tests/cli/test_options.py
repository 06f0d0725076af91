"""Flags are made from what `core/options.py` declares."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest
import typer
from typer.testing import CliRunner

import rankframe as rf
from rankframe.cli.app import make_app
from rankframe.cli.options import Flag, Given, flags_of, takes
from rankframe.core.options import (
    Comparing,
    Intervals,
    Options,
    PairPolicies,
    Policies,
    SharedPolicies,
    Storage,
    declared,
    option,
    storage_options,
)
from rankframe.core.records import record

TAKEN: dict[str, tuple[type[Options], ...]] = {
    "evaluate": (Policies, Intervals),
    "agree": (PairPolicies, Intervals),
    "compare": (SharedPolicies, Comparing, Intervals),
    "diff": (Policies,),
    "gate": (SharedPolicies,),
    "report": (SharedPolicies, Comparing, Intervals),
}
COMMANDS: dict[str, Any] = typer.main.get_command(make_app()).commands  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("command", [*TAKEN, "plot", "convert"])
def test_a_command_that_reads_has_options_for_addresses(command: str) -> None:
    flags = {flag.name: flag for flag in COMMANDS[command].params}
    assert flags["storage_options"].opts == ["--storage-option"]
    assert flags["storage_options"].multiple


def test_options_for_addresses_hold_for_the_whole_command() -> None:
    @takes(Storage)
    def look(*, how: Given) -> None:
        assert how["storage_options"] == dict(storage_options()) == {"a": "1", "b": "x=y"}

    look(storage_options=["a=1", "b=x=y"])
    assert not storage_options()


def test_a_secret_that_is_not_given_as_a_pair_is_not_shown(message) -> None:
    @takes(Storage)
    def look(*, how: Given) -> None:
        raise AssertionError(how)

    with pytest.raises(rf.RankframeError) as caught:
        look(storage_options=["s3cret"])
    message(caught.value.message(flags=True))


@pytest.mark.parametrize("command", TAKEN)
def test_a_command_has_every_flag_of_its_groups(command: str) -> None:
    flags = {flag.name: flag for flag in COMMANDS[command].params}
    for group in TAKEN[command]:
        for info in declared(group):
            flag = flags[info.name]
            assert flag.opts == [f"--{info.name.replace('_', '-')}"]
            assert flag.secondary_opts == []
            assert (flag.default, flag.help) == (info.default, info.help)
            assert flag.rich_help_panel in ("Policies", "Intervals and slices")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_has_help(command: str) -> None:
    assert [flag.name for flag in COMMANDS[command].params if not flag.help] == []


def test_help_of_flags_stands_in_the_docstring_of_a_command() -> None:
    @takes(Flag("near", bool), Flag("far", bool, help="Look far away."))
    def look(*, how: Given) -> None:
        """Look around.

        Flags:
            near: Look at what is
                near.

        Examples:
          look
        """

    assert look.__doc__ == "Look around.\n\nExamples:\n  look"
    hints = inspect.signature(look).parameters
    assert [hint.annotation.__metadata__[0].help for hint in hints.values()] == [
        "Look at what is near.", "Look far away.",
    ]  # fmt: skip


@pytest.mark.parametrize("command", TAKEN)
def test_what_a_command_hands_on_is_taken(command: str) -> None:
    handed = {info.name for group in TAKEN[command] for info in declared(group)}
    assert handed <= set(inspect.signature(getattr(rf, command)).parameters)


@record
class More(Policies):
    """A policy of every kind that a function may take."""

    strict: bool = option(False, "Be strict.")
    turn: Literal["up", "down"] | None = option(None, "Which way.")
    least: int | None = option(None, "At least.")


@pytest.fixture
def handed() -> dict[str, Any]:
    """What the command below was given last."""
    return {}


@pytest.fixture
def more(handed: dict[str, Any]) -> typer.Typer:
    """A command that takes a policy that no command knew of, and a single option of another."""
    sample = typer.Typer()

    @sample.command()
    @takes(More, *flags_of(Comparing, "unpaired"))
    def look(run: str, *, how: Given, quiet: bool = False) -> None:
        handed.update(how, run=run, quiet=quiet)

    return sample


def test_a_new_policy_is_a_new_flag(more: typer.Typer, handed: dict[str, Any]) -> None:
    typed = ["a", "--strict", "--turn", "down", "--least", "3", "--unpaired", "skip", "--quiet"]
    done = CliRunner().invoke(more, typed)
    assert done.exit_code == 0, done.output
    new = {"strict": True, "turn": "down", "least": 3}
    assert handed == {
        **{o.name: o.default for o in declared(Policies) if o.default is not None},
        **new,
        "unpaired": "skip",
        "run": "a",
        "quiet": True,
    }


def test_none_is_a_choice_on_the_shell(more: typer.Typer, handed: dict[str, Any]) -> None:
    for typed in ([], ["--turn", "none"]):
        assert CliRunner().invoke(more, ["a", *typed]).exit_code == 0
        assert handed["turn"] is None
    done = CliRunner().invoke(more, ["a", "--turn", "left"], env={"COLUMNS": "120"})
    assert done.exit_code == 2
    assert "'up', 'down', 'none'" in done.output
