"""The public names for type checkers, written by docs/make.py."""

from rankframe import spark as spark
from rankframe.analysis.compare import compare
from rankframe.analysis.comparison import Comparison
from rankframe.analysis.curves.area import area_under, downsample_curve
from rankframe.analysis.curves.curve import curve
from rankframe.analysis.diff import Diff, diff
from rankframe.analysis.fusion.fuse import fuse, stack
from rankframe.analysis.gate import gate
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.tune import tune
from rankframe.analysis.verdict import Verdict
from rankframe.core.caveats import RankframeWarning
from rankframe.core.errors import RankframeError
from rankframe.engine.agree import agree
from rankframe.engine.evaluate import DEFAULT_METRICS, evaluate
from rankframe.engine.history import history
from rankframe.engine.lazy_frames import exposure, judge, pair, retrieved
from rankframe.engine.result import Result
from rankframe.io.lists import from_lists, from_relevance, from_topk
from rankframe.io.responses import from_responses
from rankframe.io.sources.examples import example
from rankframe.metrics.agreement import (
    average_overlap,
    fcp,
    jaccard,
    kendall_tau,
    ndpm,
    overlap,
    pearson,
    rbd,
    rbo,
    rbo_ext,
    rbo_min,
    rbo_p,
    rbo_res,
    rbo_weight,
    spearman,
    tau_ap,
)
from rankframe.metrics.catalogue import coverage, entropy, exposure_gap, gini, personalisation
from rankframe.metrics.gain import (
    cg,
    compat,
    dcg,
    err,
    ideal_dcg,
    ncg,
    ndcg,
    nerr,
    r_score,
    rbp,
    rbp_residual,
    sdcg,
)
from rankframe.metrics.hits import (
    f,
    f1,
    fall_out,
    hit_rate,
    hits,
    judged,
    num_nonrelevant_judged_retrieved,
    num_relevant,
    num_relevant_retrieved,
    num_retrieved,
    precision,
    r_precision,
    recall,
    relative_precision,
    set_f,
    set_map,
    set_precision,
    set_recall,
    unjudged,
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
from rankframe.metrics.retrieved import (
    calibration,
    diversity,
    efd,
    epc,
    exposure_share,
    ild,
    long_tail,
    novelty,
    popularity,
    repeated,
    serendipity,
    unexpectedness,
)
from rankframe.metrics.subtopics import (
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
from rankframe.present import charts as plot
from rankframe.present.report.report import report

__version__: str
map = average_precision  # noqa: A001
mrr = reciprocal_rank
success = hit_rate

__all__ = [
    "DEFAULT_METRICS", "Comparison", "Diff", "RankframeError", "RankframeWarning", "Result",
    "Tuning", "Verdict", "agree", "all_of", "alpha_dcg", "alpha_ndcg", "any_of", "area_under",
    "auc", "average_overlap", "average_precision", "average_recall", "bin_g", "bpref",
    "calibration", "cg", "compare", "compat", "coverage", "curve", "dcg", "diff", "diversity",
    "downsample_curve", "efd", "eleven_point", "entropy", "epc", "err", "err_ia", "evaluate",
    "example", "exposure", "exposure_gap", "exposure_share", "f", "f1", "fall_out", "fcp",
    "from_lists", "from_relevance", "from_responses", "from_topk", "fuse", "g_measure", "gate",
    "gini", "history", "hit_rate", "hits", "ideal_dcg", "ild", "infap", "iprec", "jaccard", "judge",
    "judged", "kendall_tau", "lag", "long_tail", "map_ia", "metric", "mrr", "ncg", "ndcg",
    "ndcg_ia", "ndcg_rel", "ndpm", "nerr", "nerr_ia", "nnrbp", "novelty", "nrbp",
    "num_nonrelevant_judged_retrieved", "num_relevant", "num_relevant_retrieved", "num_retrieved",
    "overlap", "pair", "pearson", "personalisation", "plot", "popularity", "precision",
    "precision_at_recall", "precision_ia", "r_precision", "r_score", "rbd", "rbo", "rbo_ext",
    "rbo_min", "rbo_p", "rbo_res", "rbo_weight", "rbp", "rbp_residual", "recall", "reciprocal_rank",
    "relative_precision", "repeated", "report", "retrieved", "rndcg", "sdcg", "serendipity",
    "set_f", "set_map", "set_precision", "set_recall", "spark", "spearman", "stack",
    "subtopic_recall", "success", "tau_ap", "trec_rbp", "trec_rbp_resid", "trec_unj", "tune",
    "unexpectedness", "unjudged", "utility", "yaap",
]  # fmt: skip
