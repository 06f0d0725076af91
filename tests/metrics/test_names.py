"""Metric names: four spellings, cutoffs, labels, and what is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import MetricParameterError, UnknownMetricError
from rankframe.metrics.names import parse, resolve

OWN = {
    "ndcg@10": ("ndcg", {"k": 10}),
    "ndcg(k=10)": ("ndcg", {"k": 10}),
    "ndcg(gain=exp2)@10": ("ndcg", {"gain": "exp2", "k": 10}),
    "ndcg(gain={1: 3, 2: 9}, ideal=retrieved)@5": (
        "ndcg",
        {"gain": {1: 3, 2: 9}, "ideal": "retrieved", "k": 5},
    ),
    "map(denominator=retrieved)": ("average_precision", {"denominator": "retrieved"}),
    "f(beta=0.5)@3": ("f", {"beta": 0.5, "k": 3}),
    "auc(pool=true)": ("auc", {"pool": True}),
    "auc(pool=False)": ("auc", {"pool": False}),
    "recall(rel=0.5)": ("recall", {"rel": 0.5}),
    "precision()": ("precision", {}),
    "top_k_accuracy@3": ("hit_rate", {"k": 3}),
    "mar@5": ("average_recall", {"k": 5}),
    "eleven_point": ("eleven_point", {}),
}
RANX = {
    "ndcg_burges@10": ("ndcg", {"gain": "exp2", "k": 10}),
    "dcg_burges@10": ("dcg", {"gain": "exp2", "k": 10}),
    "rbp.95": ("rbp", {"p": 0.95}),
    "rbp.8": ("rbp", {"p": 0.8}),
    "map@100-l2": ("average_precision", {"k": 100, "rel": 2}),
    "mrr-l2": ("reciprocal_rank", {"rel": 2}),
    "rbp.95-l3": ("rbp", {"p": 0.95, "rel": 3}),
    "ndcg@10-l2": ("ndcg", {"k": 10, "min_grade": 2}),
    "ndcg_burges-l3": ("ndcg", {"gain": "exp2", "min_grade": 3}),
    "dcg(rel_lvl=2)": ("dcg", {"min_grade": 2}),
    "map(rel_lvl=2)": ("average_precision", {"rel": 2}),
    "hit_rate@5": ("hit_rate", {"k": 5}),
    "hits@5": ("hits", {"k": 5}),
    "r-precision": ("r_precision", {}),
    "r_precision": ("r_precision", {}),
}
IR_MEASURES = {
    "nDCG@10": ("ndcg", {"k": 10}),
    "nDCG(dcg='exp-log2')@10": ("ndcg", {"gain": "exp2", "k": 10}),
    'nDCG(dcg="log2")@10': ("ndcg", {"gain": "linear", "k": 10}),
    "nDCG(cutoff=10)": ("ndcg", {"k": 10}),
    "P(rel=2)@5": ("precision", {"rel": 2, "k": 5}),
    "AP": ("average_precision", {}),
    "AP@100": ("average_precision", {"k": 100}),
    "RR@10": ("reciprocal_rank", {"k": 10}),
    "R@100": ("recall", {"k": 100}),
    "Rprec": ("r_precision", {}),
    "SetAP": ("set_map", {}),
    "SetAP(rel=2)": ("set_map", {"rel": 2}),
    "NCG@100": ("ncg", {"k": 100}),
    "nDCG(min_rel=2)": ("ndcg", {"min_grade": 2}),
    "Success@5": ("hit_rate", {"k": 5}),
    "Bpref": ("bpref", {}),
    "RBP(p=0.8)": ("rbp", {"p": 0.8}),
    "ERR@20": ("err", {"k": 20}),
    "IPrec@0.1": ("iprec", {"recall": 0.1}),
    "Judged@10": ("judged", {"k": 10}),
    "NumRet": ("num_retrieved", {}),
    "NumRet(rel=1)": ("num_relevant_retrieved", {"rel": 1}),
    "SetP": ("set_precision", {}),
    "SetR": ("set_recall", {}),
    "SetF": ("set_f", {}),
    "SetF(beta=2)": ("set_f", {"x": 2}),
    "infAP": ("infap", {}),
}
TREC_EVAL = {
    "ndcg_cut_10": ("ndcg", {"k": 10}),
    "ndcg_cut.10": ("ndcg", {"k": 10}),
    "P_10": ("precision", {"k": 10}),
    "P.10": ("precision", {"k": 10}),
    "recall_100": ("recall", {"k": 100}),
    "map_cut_10": ("average_precision", {"k": 10}),
    "recip_rank": ("reciprocal_rank", {}),
    "Rprec": ("r_precision", {}),
    "success_5": ("hit_rate", {"k": 5}),
    "relative_P_5": ("relative_precision", {"k": 5}),
    "set_relative_P": ("relative_precision", {}),
    "set_P": ("set_precision", {}),
    "set_F.2": ("set_f", {"x": 2}),
    "iprec_at_recall_0.10": ("iprec", {"recall": 0.1}),
    "11pt_avg": ("eleven_point", {}),
    "gm_map": ("average_precision", {}),
    "num_ret": ("num_retrieved", {}),
    "num_rel": ("num_relevant", {}),
    "num_rel_ret": ("num_relevant_retrieved", {}),
    "num_nonrel_judged_ret": ("num_nonrelevant_judged_retrieved", {}),
    "infAP": ("infap", {}),
    "Rndcg": ("rndcg", {}),
    "G": ("g_measure", {}),
    "binG": ("bin_g", {}),
}


SPELLINGS = OWN | RANX | IR_MEASURES | TREC_EVAL


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_spelling_is_read(name: str) -> None:
    (metric,) = parse(name)
    assert metric.definition is not None
    assert (metric.definition.name, metric.params) == SPELLINGS[name]
    assert metric.label == name


@pytest.mark.parametrize(
    ("name", "average"),
    [
        ("map", "macro"),
        ("gm_map", "geometric"),
        ("gm_bpref", "geometric"),
        ("num_rel", "sum"),
        ("r_score", "micro"),
        ("r_score(average=macro)", "macro"),
        ("auc", "macro"),
        ("auc(pool=true)", "micro"),
        ("recall(average=micro)@5", "micro"),
        ("recall(average=weighted)@5", "weighted"),
        ("mrr(average=geometric)", "geometric"),
    ],
)
def test_how_a_metric_is_averaged(name: str, average: str) -> None:
    (metric,) = parse(name)
    assert metric.average == average
    assert "average" not in metric.params


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("ndcg@1,3,5", ["ndcg@1", "ndcg@3", "ndcg@5"]),
        ("ndcg@1, 3", ["ndcg@1", "ndcg@3"]),
        ("nDCG(dcg='exp-log2')@1,10", ["nDCG(dcg='exp-log2')@1", "nDCG(dcg='exp-log2')@10"]),
        ("map@5,10-l2", ["map@5-l2", "map@10-l2"]),
        ("P_5,10", ["P_5", "P_10"]),
        ("ndcg_cut.5,10", ["ndcg_cut.5", "ndcg_cut.10"]),
        ("iprec_at_recall_0.1,0.2", ["iprec_at_recall_0.1", "iprec_at_recall_0.2"]),
        ("IPrec@0.1,0.2", ["IPrec@0.1", "IPrec@0.2"]),
        ("f1_1,11", ["f1_1", "f1_11"]),
        (" ndcg@1 ", ["ndcg@1"]),
    ],
)
def test_a_list_of_cutoffs_is_a_metric_for_each(name: str, labels: list[str]) -> None:
    metrics = parse(name)
    assert [m.label for m in metrics] == labels
    # each label, typed by itself, means the same
    assert [m.params for m in metrics] == [parse(label)[0].params for label in labels]


def test_labels_are_kept_as_typed_even_where_they_mean_the_same() -> None:
    names = ["nDCG@10", "ndcg@10", "ndcg_cut_10", "ndcg_cut.10", "NDCG@10", "ndcg(k=10)"]
    result = rf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, names)
    assert list(result.means) == names
    assert result.per_query.columns == ["query_id", *names]
    assert len(set(result.means.values())) == 1


@pytest.mark.parametrize(
    "names", [["map", "map"], ["ndcg@10", "ndcg@5,10"], ["ndcg@5,5"], ["map", " map "]]
)
def test_the_same_label_twice_is_refused(names: list[str], refusal) -> None:
    refusal(resolve, names)


def test_an_expression_may_not_take_the_label_of_a_metric(refusal) -> None:
    refusal(resolve, ["map", pl.col("relevant").any().alias("map")])


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("ndgc@10", "'ndcg@10'"),
        ("NDGC@10", "'ndcg@10'"),
        ("recal@5", "'recall@5'"),
        ("precison(rel=2)@5", "'precision(rel=2)@5'"),
        ("ndgc_cut_10", "'ndcg_cut_10'"),
        ("average_precison", "'average_precision'"),
        ("num_rel_rt", "'num_rel_ret'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(name: str, suggestion: str) -> None:
    with pytest.raises(UnknownMetricError) as refused:
        parse(name)
    assert f"unknown metric {name!r}" in str(refused.value)
    assert suggestion in str(refused.value)


@pytest.mark.parametrize("name", ["", "  ", "@5", "ndcg(", "ndcg@5@10", "ndcg@5)", "ndcg@5(rel=1)"])
def test_what_cannot_be_read_is_refused(name: str, refusal) -> None:
    refusal(parse, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        # a parameter that the metric lacks
        ("map(demoninator=min)", "no parameter 'demoninator'. Did you mean 'denominator'?"),
        ("map(gain=exp2)", "average_precision has no parameter 'gain'."),
        ("NumRet(p=0.5)", "no parameter 'p'"),
        ("ndcg_rel-l2", "ndcg_rel takes no rel"),
        ("ndcg(rel=2)@5", "ndcg has no parameter 'rel'. Grades are used as they are; min_grade="),
        ("cg(rel=2)", "cg has no parameter 'rel'. Grades are used as they are; min_grade="),
        ("ndcg(5)", "parameters read name=value, not '5'"),
        # cutoffs
        ("ndcg@0", "a cutoff must be at least 1, not 0"),
        ("ndcg@-1", "a cutoff must be at least 1, not -1"),
        ("ndcg(k=0)", "a cutoff must be at least 1, not 0"),
        ("P_0", "a cutoff must be at least 1, not 0"),
        ("ndcg@5,0", "a cutoff must be at least 1, not 0"),
        ("ndcg@1.5", "k must be a whole number, not 1.5"),
        ("ndcg@ten", "a cutoff is a whole number, not 'ten'"),
        ("ndcg@", "a cutoff is a whole number, not ''"),
        ("ndcg@5,", "a cutoff is a whole number, not ''"),
        ("bpref@5", "bpref takes no cutoff"),
        ("num_ret_5", "num_retrieved takes no cutoff"),
        # twice
        ("ndcg(k=5)@10", "sets k twice"),
        ("ndcg(k=5,k=10)", "sets k twice"),
        ("P(rel=1)@5-l2", "sets rel twice"),
        ("ndcg(min_grade=1)@5-l2", "sets min_grade twice"),
        # out of range
        ("rbp(p=0)", "p must be strictly between 0 and 1, not 0"),
        ("rbp(p=1)", "p must be strictly between 0 and 1, not 1"),
        ("rbp(p=-0.5)", "p must be strictly between 0 and 1, not -0.5"),
        ("trec_rbp(p=1)", "p must be strictly between 0 and 1, not 1"),
        ("trec_rbp_resid(p=0)", "p must be strictly between 0 and 1, not 0"),
        ("rbp_residual(p=1.5)", "p must be strictly between 0 and 1, not 1.5"),
        ("f(beta=0)", "beta must be strictly between 0 and 1e+100, not 0"),
        ("set_f(x=-1)", "x must be strictly between 0 and 1e+100, not -1"),
        ("iprec(recall=1.1)", "recall must be from 0 to 1, not 1.1"),
        ("IPrec@1.1", "recall must be from 0 to 1, not 1.1"),
        ("precision_at_recall(recall=-1)", "recall must be from 0 to 1, not -1"),
        ("r_score(half_life=1)", "half_life must be strictly between 1 and inf, not 1"),
        ("dcg(gain={1: 3, 2: 1})", "must not be negative nor fall"),
        ("dcg(gain={1: -1})", "must not be negative nor fall"),
        # of the wrong type
        ("rbp(p=half)", "p must be a number, not 'half'"),
        ("rbp(p=true)", "p must be a number, not True"),
        ("ndcg(k=ten)", "k must be a whole number, not 'ten'"),
        ("auc(pool=3)", "pool must be true or false, not 3"),
        (
            "ndcg(gain=cubic)",
            "gain must be 'linear' or 'exp2' or a number of at most 1e+100 for each grade",
        ),
        ("ndcg(gain=2)", "for each grade, not 2"),
        ("ndcg(ideal=best)", "ideal must be 'all' or 'retrieved', not 'best'"),
        ("dcg(discount=log)", "discount must be 'log2' or 'ln' or 'jarvelin', not 'log'"),
        ("ndcg(base=3)", "base belongs to discount='jarvelin', not to 'log2'"),
        ("dcg(discount=jarvelin, base=1)", "base must be strictly between 1 and inf, not 1"),
        ("precision(denominator=n)", "denominator must be 'k' or 'retrieved', not 'n'"),
        ("lag(missing=zero)", "missing must be 'ignore' or 'end', not 'zero'"),
        # averages
        ("mrr(average=micro)", "reciprocal_rank is not a ratio of sums"),
        ("hits(average=micro)", "hits is not a ratio of sums"),
        ("num_rel(average=micro)", "num_relevant is not a ratio of sums"),
        ("mrr(average=harmonic)", "average='harmonic' is not one of macro, micro"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(MetricParameterError) as refused:
        parse(name)
    assert repr(name) in str(refused.value)
    assert message in str(refused.value)


def test_a_weighted_average_needs_weights(refusal) -> None:
    refusal(rf.evaluate, {"q": {"a": 1}}, {"q": {"a": 1.0}}, "map(average=weighted)")


@pytest.mark.parametrize("metrics", [[], (), set()])
def test_no_metric_at_all_is_refused(metrics: Any, refusal) -> None:
    refusal(resolve, metrics)


@pytest.mark.parametrize("metric", [3, None, rf.ndcg])
def test_what_is_neither_name_nor_expression_is_refused(metric: Any, refusal) -> None:
    refusal(resolve, [metric])


@pytest.mark.parametrize(
    "name", ["n" * 20_000, "ndcg@" + "1" * 20_000, "map(" + "x" * 20_000, "a_" * 10_000]
)
def test_a_name_that_nobody_meant_is_refused_at_once(name: str, refusal) -> None:
    said = refusal(parse, name)
    assert len(said) < 300


@pytest.mark.parametrize(
    "name", ["ndcg(gain=" + "-" * 900 + "1)", "ndcg(gain=" + "(" * 400 + ")" * 400 + ")"]
)
def test_values_that_lie_deep_in_each_other_are_text(name: str, refusal) -> None:
    refusal(parse, name)


@pytest.mark.parametrize("text", ["ndcg@10,recall@10", "ndcg(gain=exp2)@1,3, map", "map,mrr"])
def test_names_in_one_are_told_apart(text: str, refusal: Any) -> None:
    refusal(parse, text)
