"""Call trec_eval's C functions for judgments in groups, in the extension of pytrec_eval.

pytrec_eval offers plain judgments only, but what it is built from has it all. What is not there
skips the tests that need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    Structure,
    addressof,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_long,
    c_void_p,
)
from itertools import count
from pathlib import Path

import pytest
import pytrec_eval_ext

Values = dict[str, dict[str, float]]


class Parameter(Structure):
    _fields_ = [("measure_name", c_char_p), ("parameters", c_char_p)]


class Options(Structure):
    _fields_ = [
        ("query_flag", c_long), ("summary_flag", c_long), ("debug_level", c_long),
        ("debug_query", c_char_p), ("relation_flag", c_long), ("average_complete_flag", c_long),
        ("judged_docs_only_flag", c_long), ("num_docs_in_coll", c_long),
        ("relevance_level", c_long), ("max_num_docs_per_topic", c_long),
        ("rel_info_format", c_char_p), ("results_format", c_char_p), ("zscore_flag", c_long),
        ("meas_arg", POINTER(Parameter)),
    ]  # fmt: skip


class Value(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Evaluation(Structure):
    _fields_ = [
        ("qid", c_char_p), ("num_queries", c_long), ("values", POINTER(Value)),
        ("num_values", c_long), ("max_num_values", c_long),
    ]  # fmt: skip


class Results(Structure):
    _fields_ = [
        ("qid", c_char_p), ("run_id", c_char_p), ("ret_format", c_char_p), ("q_results", c_void_p),
    ]  # fmt: skip


class AllResults(Structure):
    _fields_ = [("num", c_long), ("most", c_long), ("results", POINTER(Results))]


class Judgments(Structure):
    _fields_ = [("qid", c_char_p), ("rel_format", c_char_p), ("q_rel_info", c_void_p)]


class AllJudgments(Structure):
    _fields_ = [("num", c_long), ("most", c_long), ("judgments", POINTER(Judgments))]


class Measure(Structure):
    _fields_ = [
        ("name", c_char_p), ("explanation", c_char_p),
        ("init", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("calculate", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
        ("add", c_void_p), ("average", c_void_p), ("print", c_void_p), ("print_all", c_void_p),
        ("parameters", c_void_p), ("eval_index", c_long),
    ]  # fmt: skip


_READERS = {"prefs": "te_get_prefs", "qrels_prefs": "te_get_qrels_prefs",
            "qrels_jg": "te_get_qrels_jg"}  # fmt: skip
_RESULTS = "te_get_trec_results"
# The C functions keep what they made of a query until another name comes.
_NAMES = (f"query {number}".encode() for number in count())


def by_trec_eval(
    judgments: Path,
    run: Path,
    rel_format: str,
    measures: Sequence[str],
    *,
    level: int = 1,
    deepest: int = 2**62,
    judged_only: bool = False,
) -> Values:
    """Evaluate measures by trec_eval's C code; return values by query and label."""
    library = CDLL(pytrec_eval_ext.__file__)
    needed = (*_READERS.values(), _RESULTS, *(f"te_meas_{name}" for name in measures))
    if absent := [name for name in needed if not hasattr(library, name)]:
        pytest.skip(f"pytrec_eval's extension has no {absent[0]}")
    none = (Parameter * 1)(Parameter(None, None))
    options = Options(
        summary_flag=1,
        relation_flag=1,
        judged_docs_only_flag=int(judged_only),
        relevance_level=level,
        max_num_docs_per_topic=deepest,
        rel_info_format=rel_format.encode(),
        results_format=b"trec_results",
        meas_arg=none,
    )
    judged, ranked = AllJudgments(), AllResults()
    for reader, path, read in ((_READERS[rel_format], judgments, judged), (_RESULTS, run, ranked)):
        done = getattr(library, reader)(byref(options), str(path).encode(), byref(read))
        assert done == 1
    lists = {one.qid: one for one in ranked.results[: ranked.num]}
    found: Values = {}
    for one in judged.judgments[: judged.num]:
        if one.qid in lists:
            results = lists[one.qid]
            results.qid = next(_NAMES)
            values = found[one.qid.decode()] = {}
            for name in measures:
                values |= _calculated(library, options, one, results, name)
    return found


def _calculated(
    library: CDLL, options: Options, judged: Judgments, ranked: Results, name: str
) -> dict[str, float]:
    measure = Measure.in_dll(library, f"te_meas_{name}")
    measure.eval_index = -2
    of_query = Evaluation(num_queries=1)
    assert measure.init(*map(_address, (options, measure, of_query))) == 1
    done = measure.calculate(*map(_address, (options, judged, ranked, measure, of_query)))
    assert done == 1
    measure.eval_index = -1
    return {one.name.decode(): one.value for one in of_query.values[: of_query.num_values]}


def _address(structure: Structure) -> c_void_p:
    return c_void_p(addressof(structure))
