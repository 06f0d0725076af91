"""Keys that find each other in a table, against dicts: whatever the keys, however many."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankframe.kernel.tables import Index, probe, representatives

# Around 65,536 a table changes its width.
SIZES = [0, 1, 2, 7, 1_000, 65_535, 65_536, 65_537]
KINDS = ["random", "repeated", "tiny", "same leading bits", "same trailing bits", "all equal"]

numbers = st.one_of(st.integers(0, 5), st.integers(2**64 - 6, 2**64 - 1), st.integers(0, 2**64 - 1))
lists = st.lists(numbers, max_size=60)


def draw(kind: str, size: int, seed: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    some = random.integers(0, 2**64, size, np.uint64, endpoint=False)
    match kind:
        case "repeated":
            return random.choice(some, size) if size else some
        case "tiny":
            return some % np.uint64(7)
        case "same leading bits":
            return np.arange(size, dtype=np.uint64)[::-1] + np.uint64(0xABCD << 48)
        case "same trailing bits":
            return (np.arange(size, dtype=np.uint64) << np.uint64(46)) | np.uint64(5)
        case "all equal":
            return np.full(size, 2**63 + 1, np.uint64)
    return some


def check_probe(keys: np.ndarray, wanted: np.ndarray) -> None:
    probed = probe(keys, wanted)
    present = set(keys.tolist())
    there = np.array([key in present for key in wanted.tolist()], np.bool_)
    assert np.array_equal(probed.found >= 0, there)
    assert np.array_equal(keys[probed.found[there]], wanted[there])
    # every row of a repeated key but one, each with another of the same key
    assert np.array_equal(keys[probed.again], keys[probed.first])
    assert (probed.again != probed.first).all()
    assert len(set(probed.again.tolist())) == len(probed.again)
    assert Counter(keys[probed.again].tolist()) == Counter(keys.tolist()) - Counter(present)


def check_index(keys: np.ndarray, wanted: np.ndarray) -> None:
    index, present = Index(keys), set(keys.tolist())
    assert index.repeats == (len(present) < len(keys))
    found = index.find(wanted)
    there = np.array([key in present for key in wanted.tolist()], np.bool_)
    assert np.array_equal(found >= 0, there)
    assert np.array_equal(keys[found[there]], wanted[there])
    assert np.array_equal(keys[index.find(keys)], keys)


def check_representatives(keys: np.ndarray) -> None:
    of = representatives(keys)
    assert np.array_equal(keys[of], keys)
    assert len(np.unique(of)) == len(np.unique(keys))


@settings(deadline=None)
@given(lists, lists)
def test_any_keys_are_found_as_in_a_dict(keys: list[int], wanted: list[int]) -> None:
    some, others = np.array(keys, np.uint64), np.array(wanted, np.uint64)
    check_probe(some, others)
    check_index(some, others)
    check_representatives(some)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_tables_of_every_size(size: int, kind: str) -> None:
    keys = draw(kind, size)
    wanted = np.concatenate([keys[::3], draw(kind, 50, seed=4), np.array([0, 2**64 - 1], "u8")])
    check_probe(keys, wanted)
    check_index(keys, wanted)
    check_representatives(keys)


def test_a_table_that_is_used_again_remembers_nothing() -> None:
    for size in (60_000, 3, 1, 500, 65_536, 2):
        keys = draw("random", size, seed=size)
        check_probe(keys, draw("random", 60_000, seed=60_000))
        check_representatives(keys)


def test_threads_do_not_share_a_table() -> None:
    def work(seed: int) -> None:
        for size in (20_000, 65_537, 11):
            keys = draw("repeated", size, seed)
            check_probe(keys, draw("random", 100, seed))
            check_representatives(keys)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))


def test_an_index_is_asked_by_many_threads() -> None:
    keys = draw("random", 30_000)
    index = Index(keys)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(index.find, [keys] * 8):
            assert np.array_equal(found, np.arange(len(keys)))
