"""The public names for type checkers, written by docs/make.py."""

from rankframe import plot, spark
from rankframe.base.errors import RankframeError
from rankframe.catalogue.counts import documents
from rankframe.catalogue.shown import shown
from rankframe.curves.area import area_under, thin
from rankframe.curves.curve import curve
from rankframe.decisions.change import Diff
from rankframe.decisions.compare import compare
from rankframe.decisions.comparison import Comparison
from rankframe.decisions.diff import diff
from rankframe.decisions.gate import gate
from rankframe.decisions.verdict import Verdict
from rankframe.evaluation.agree import agree
from rankframe.evaluation.evaluate import DEFAULT_METRICS, evaluate
from rankframe.evaluation.history import history
from rankframe.evaluation.judge import judge
from rankframe.evaluation.pair import pair
from rankframe.evaluation.result import Result
from rankframe.fusion.fuse import fuse
from rankframe.fusion.stacked import stacked
from rankframe.inputs.graded_rows import from_relevance
from rankframe.inputs.lists import from_lists
from rankframe.inputs.responses import from_responses
from rankframe.inputs.topk import from_topk
from rankframe.metrics.agreement import (
    average_overlap,
    jaccard,
    overlap,
    rbd,
    rbo,
    rbo_ext,
    rbo_min,
    rbo_p,
    rbo_res,
    rbo_weight,
)
from rankframe.metrics.catalogue import coverage, entropy, exposure_gap, gini, personalisation
from rankframe.metrics.correlation import fcp, kendall_tau, ndpm, pearson, spearman, tau_ap
from rankframe.metrics.counts import (
    judged,
    num_nonrelevant_judged_retrieved,
    num_relevant,
    num_relevant_retrieved,
    num_retrieved,
    unjudged,
)
from rankframe.metrics.gain import (
    cg,
    dcg,
    err,
    ideal_dcg,
    ncg,
    ndcg,
    nerr,
    r_score,
    rbp,
    rbp_residual,
)
from rankframe.metrics.groups import (
    all_of,
    alpha_dcg,
    alpha_ndcg,
    any_of,
    err_ia,
    map_ia,
    ndcg_ia,
    nerr_ia,
    nnrbp,
    nrbp,
    precision_ia,
    subtopic_recall,
)
from rankframe.metrics.hits import (
    f,
    f1,
    fall_out,
    hit_rate,
    hits,
    precision,
    r_precision,
    recall,
    relative_precision,
    set_f,
    set_map,
    set_precision,
    set_recall,
)
from rankframe.metrics.metric import metric
from rankframe.metrics.order import (
    auc,
    average_precision,
    average_recall,
    bpref,
    eleven_point,
    infap,
    iprec,
    lag,
    precision_at_recall,
    reciprocal_rank,
    yaap,
)
from rankframe.metrics.scaled import compat, sdcg
from rankframe.metrics.shown import (
    calibration,
    diversity,
    exposure_share,
    ild,
    long_tail,
    novelty,
    popularity,
    repeated,
    unexpectedness,
)
from rankframe.metrics.shown_relevant import efd, epc, serendipity
from rankframe.metrics.trec import (
    bin_g,
    g_measure,
    ndcg_rel,
    rndcg,
    trec_rbp,
    trec_rbp_resid,
    trec_unj,
    utility,
)
from rankframe.reporting.report import report
from rankframe.sources.examples import example
from rankframe.tuning.outcome import Tuning
from rankframe.tuning.tune import tune

__version__: str
map = average_precision  # noqa: A001
mrr = reciprocal_rank
success = hit_rate

__all__ = [
    "DEFAULT_METRICS", "Comparison", "Diff", "RankframeError", "Result", "Tuning", "Verdict",
    "agree", "all_of", "alpha_dcg", "alpha_ndcg", "any_of", "area_under", "auc", "average_overlap",
    "average_precision", "average_recall", "bin_g", "bpref", "calibration", "cg", "compare",
    "compat", "coverage", "curve", "dcg", "diff", "diversity", "documents", "efd", "eleven_point",
    "entropy", "epc", "err", "err_ia", "evaluate", "example", "exposure_gap", "exposure_share", "f",
    "f1", "fall_out", "fcp", "from_lists", "from_relevance", "from_responses", "from_topk", "fuse",
    "g_measure", "gate", "gini", "history", "hit_rate", "hits", "ideal_dcg", "ild", "infap",
    "iprec", "jaccard", "judge", "judged", "kendall_tau", "lag", "long_tail", "map_ia", "metric",
    "mrr", "ncg", "ndcg", "ndcg_ia", "ndcg_rel", "ndpm", "nerr", "nerr_ia", "nnrbp", "novelty",
    "nrbp", "num_nonrelevant_judged_retrieved", "num_relevant", "num_relevant_retrieved",
    "num_retrieved", "overlap", "pair", "pearson", "personalisation", "plot", "popularity",
    "precision", "precision_at_recall", "precision_ia", "r_precision", "r_score", "rbd", "rbo",
    "rbo_ext", "rbo_min", "rbo_p", "rbo_res", "rbo_weight", "rbp", "rbp_residual", "recall",
    "reciprocal_rank", "relative_precision", "repeated", "report", "rndcg", "sdcg", "serendipity",
    "set_f", "set_map", "set_precision", "set_recall", "shown", "spark", "spearman", "stacked",
    "subtopic_recall", "success", "tau_ap", "thin", "trec_rbp", "trec_rbp_resid", "trec_unj",
    "tune", "unexpectedness", "unjudged", "utility", "yaap",
]  # fmt: skip
