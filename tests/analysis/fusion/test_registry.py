"""What every method has to say of itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.norms import NORMS
from rankframe.analysis.fusion.registry import Limits, compute_distinct


def test_there_are_those_of_ranx() -> None:
    assert len(METHODS) == 25
    assert len(NORMS) == 7


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_is(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert method.summary.endswith(".")
    assert method.formula
    assert method.signature.startswith(name)
    assert all(synonym.isidentifier() for synonym in method.synonyms)
    assert set(method.limits) == set(method.parameters) - {"weights"}
    assert pickle.loads(pickle.dumps(method)) == method


def test_names_are_taken_once() -> None:
    names = [name for one in METHODS.values() for name in (one.name, *one.synonyms)]
    assert len(set(names)) == len(names)


def test_limits_allow_and_say_themselves(message) -> None:
    share = Limits(0, 1, below=True)
    assert [share.allow(x) for x in (0, 0.5, 1, -0.1)] == [True, True, False, False]
    message(str(share))
    whole = Limits(1, 9, whole=True)
    assert [whole.allow(x) for x in (1, 1.5, 9)] == [True, False, True]
    message(str(whole))


def test_what_numbers_are_worth_near_and_far_from_0() -> None:
    near = np.array([0, 2, 1], np.int32)
    far = np.array([0, 2_000_000_000, 1], np.int32)
    assert compute_distinct(lambda n: 1 / n, near).tolist() == [0.0, 0.5, 1.0]
    assert compute_distinct(lambda n: 1 / n, far).tolist() == [0.0, 1 / 2_000_000_000, 1.0]
    assert compute_distinct(lambda n: 1 / n, near[:0]).tolist() == []
