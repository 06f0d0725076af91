"""Hash tables as numpy arrays: many keys find each other at once, by scattering and gathering.

A table holds row numbers. All keys write theirs into the slot that leading bits of the key name,
and read it again: a key that finds another row there has lost, to an equal key or to a key that
shares the slot. The losers try again with other bits. Nothing is sorted, and a table of some ten
thousand rows stays in the processor's cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, cycle

import numpy as np
from numpy.typing import NDArray

from rankframe.core.arrays import Ints, Keys

_FACTORS = [
    np.uint64(word)
    for word in (
        0x9E37_79B9_7F4A_7C15,
        0xBF58_476D_1CE4_E5B9,
        0x94D0_49BB_1331_11EB,
        0xD6E8_FEB8_6659_FD93,
        0xA076_1D64_78BD_642F,
        0xE703_7ED1_A0B4_28DB,
    )
]
_SMALL_ROWS = 1 << 16  # whose numbers take two bytes
_SMALL_BITS = 18
_KEPT_BITS = 20
_kept = threading.local()


@dataclass(frozen=True)
class Probed:
    """Hold where keys were found in a table, and which rows of the table have equal keys."""

    # for each key that was looked for: a row with this key, or -1
    found: Ints
    # rows that have the key of another one, and that other one; every such row but one of each key
    again: Ints
    first: Ints


def probe(keys: Keys, targets: Keys) -> Probed:
    """Look for `targets` keys among `keys`, and for equal keys among the latter.

    >>> probed = probe(np.array([7, 5, 7], np.uint64), np.array([5, 1], np.uint64))
    >>> probed.found, set(probed.again.tolist()) | set(probed.first.tolist())
    (array([ 1, -1]), {0, 2})
    """
    found = np.full(len(targets), -1, np.int64)
    again: list[Ints] = []
    first: list[Ints] = []
    if not len(keys):
        return Probed(found, np.empty(0, np.int64), np.empty(0, np.int64))
    table, bits = _table(len(keys))
    left: Ints | None = None
    rows: Ints | None = None
    for slots_of in _rounds(bits):
        me = np.arange(len(keys), dtype=table.dtype) if rows is None else rows.astype(table.dtype)
        slots = slots_of(keys if rows is None else keys[rows])
        table[slots] = me
        if left is None or len(left):
            ask = targets if left is None else targets[left]
            # What an earlier use left behind is a row like any other: the key decides.
            rows_found = np.minimum(table.take(slots_of(ask)), len(keys) - 1).astype(np.int64)
            hit = keys.take(rows_found) == ask
            if left is None:
                left = np.arange(len(targets))
            found[left[hit]] = rows_found[hit]
            left = left[~hit]
        won = table.take(slots)
        lost = np.flatnonzero(won != me)
        mine, winners = lost if rows is None else rows[lost], won[lost].astype(np.int64)
        same = keys.take(mine) == keys.take(winners)
        if same.any():
            again.append(mine[same])
            first.append(winners[same])
            mine = mine[~same]
        if not len(mine):
            break
        rows = mine
    return Probed(found, *(np.concatenate([np.empty(0, np.int64), *r]) for r in (again, first)))


def repeats(keys: Keys) -> bool:
    """Return whether two keys are equal."""
    return len(probe(keys, keys[:0]).again) > 0


def representatives(keys: Keys) -> NDArray[np.unsignedinteger]:
    """Return, for each key, the number of a row that has it: the same row for equal keys.

    >>> of = representatives(np.array([7, 5, 7], np.uint64))
    >>> bool(of[0] == of[2]), int(of[1])
    (True, 1)
    """
    table, bits = _table(len(keys))
    found = np.arange(len(keys), dtype=table.dtype)
    rows: Ints | None = None
    for slots_of in _rounds(bits):
        part = keys if rows is None else keys[rows]
        slots = slots_of(part)
        table[slots] = found if rows is None else rows
        won = table.take(slots)
        lost = np.flatnonzero(keys.take(won) != part)
        if rows is None:
            found = won
        else:
            found[rows] = won
        if not len(lost):
            break
        rows = lost if rows is None else rows[lost]
    return found


class Index:
    """Find the numbers of keys."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        # whether some key is there twice: then one of its numbers is found
        self.repeats = False
        self._tables: list[tuple[NDArray[np.int32], _Slots]] = []
        todo = np.arange(len(keys), dtype=np.int32)
        factors = cycle(_FACTORS)
        for turn in count():
            if not len(todo):
                break
            bits = max(2 * len(todo), 4).bit_length()
            slots_of = _Slots(next(factors), np.uint64(turn), np.uint64(64 - bits))
            table = np.full(1 << bits, -1, np.int32)
            slots = slots_of(keys[todo])
            table[slots] = todo
            won = table.take(slots)
            lost = np.flatnonzero(won != todo)
            same = keys[won[lost]] == keys[todo[lost]]
            self.repeats |= bool(same.any())
            self._tables.append((table, slots_of))
            todo = todo[lost[~same]]

    def find(self, targets: Keys) -> Ints:
        """Return the number of each key; -1 where there is none."""
        found = np.full(len(targets), -1, np.int64)
        left: Ints | None = None
        for table, slots_of in self._tables:
            ask = targets if left is None else targets[left]
            rows = table.take(slots_of(ask))
            hit = (rows >= 0) & (self.keys.take(rows, mode="clip") == ask)
            if left is None:
                left = np.arange(len(targets))
            found[left[hit]] = rows[hit]
            left = left[~hit]
            if not len(left):
                break
        return found


@dataclass(frozen=True)
class _Slots:
    """Map keys to slots of a table."""

    factor: np.uint64
    added: np.uint64
    shift: np.uint64

    def __call__(self, keys: Keys) -> Ints:
        slots = keys * self.factor
        slots += self.added
        slots >>= self.shift
        return slots.view(np.int64)


def _rounds(bits: int) -> Iterator[Callable[[Keys], Ints]]:
    """Yield functions of keys: first their own bits, which look random; then with other factors."""
    shift = np.uint64(64 - bits)
    yield lambda keys: (keys >> shift).view(np.int64)
    for turn, factor in zip(count(1), cycle(_FACTORS), strict=False):
        yield _Slots(factor, np.uint64(turn), shift)


def _table(rows: int) -> tuple[NDArray[np.unsignedinteger], int]:
    """Return a table for the rows, with anything in it; small tables are used again."""
    small = rows <= _SMALL_ROWS
    kind, bits = (np.uint16, _SMALL_BITS) if small else (np.uint32, rows.bit_length() + 1)
    if bits > _KEPT_BITS:
        return np.zeros(1 << bits, kind), bits
    table = getattr(_kept, kind.__name__, None)
    if table is None or len(table) < 1 << bits:
        table = np.zeros(1 << bits, kind)
        setattr(_kept, kind.__name__, table)
    return table, bits
