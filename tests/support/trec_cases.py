"""Provide judgments and a run, and the output of trec_eval for them."""

from __future__ import annotations

# Equal scores, a grade that is cut off, one below 0, ranks that mean nothing, a query without
# judgments and one that the run lacks.
QRELS = """\
102 0 d1 1
102 0 d2 0
102 0 d4 1
11 0 d1 2
11 0 d2 0
11 0 d3 1.9
11 0 d5 -1
11 0 d9 1
9 0 d1 1
"""


RUN = """\
11 Q0 d1 4 0.5 demo
11 Q0 d2 1 0.5 demo
11 Q0 d3 2 0.25 demo
11 Q0 d5 3 0.75 demo
11 Q0 d8 5 0.125 demo
102 Q0 d7 1 2 demo
102 Q0 d4 2 1e1 demo
7 Q0 d1 1 1 demo
"""


OFFICIAL = """\
runid                 \tall\tdemo
num_q                 \tall\t2
num_ret               \tall\t7
num_rel               \tall\t5
num_rel_ret           \tall\t3
map                   \tall\t0.3889
gm_map                \tall\t0.3727
Rprec                 \tall\t0.4167
bpref                 \tall\t0.2500
recip_rank            \tall\t0.6667
iprec_at_recall_0.00  \tall\t0.7500
iprec_at_recall_0.10  \tall\t0.7500
iprec_at_recall_0.20  \tall\t0.7500
iprec_at_recall_0.30  \tall\t0.7500
iprec_at_recall_0.40  \tall\t0.7500
iprec_at_recall_0.50  \tall\t0.7500
iprec_at_recall_0.60  \tall\t0.7500
iprec_at_recall_0.70  \tall\t0.7500
iprec_at_recall_0.80  \tall\t0.2500
iprec_at_recall_0.90  \tall\t0.0000
iprec_at_recall_1.00  \tall\t0.0000
P_5                   \tall\t0.3000
P_10                  \tall\t0.1500
P_15                  \tall\t0.1000
P_20                  \tall\t0.0750
P_30                  \tall\t0.0500
P_100                 \tall\t0.0150
P_200                 \tall\t0.0075
P_500                 \tall\t0.0030
P_1000                \tall\t0.0015
"""


CHOSEN = ["-m", "success", "-m", "relstring.4", "-m", "utility.1,-2,0,0", "-m", "gm_map",
          "-m", "num_q", "-m", "num_rel", "-m", "ndcg_cut.3", "-mrunid",
          "-m", "iprec_at_recall.0.1"]  # fmt: skip


# queries in byte order, measures in trec_eval's
QUERIES = """\
num_rel               \t102\t2
iprec_at_recall_0.10  \t102\t1.0000
relstring_4           \t102\t'1-'
utility_1,-2,0,0      \t102\t-1.0000
ndcg_cut_3            \t102\t0.6131
success_1             \t102\t1.0000
success_5             \t102\t1.0000
success_10            \t102\t1.0000
num_rel               \t11\t3
iprec_at_recall_0.10  \t11\t0.5000
relstring_4           \t11\t'.021'
utility_1,-2,0,0      \t11\t-4.0000
ndcg_cut_3            \t11\t0.3194
success_1             \t11\t0.0000
success_5             \t11\t1.0000
success_10            \t11\t1.0000
"""


SUMMARY = """\
runid                 \tall\tdemo
num_q                 \tall\t2
num_rel               \tall\t5
gm_map                \tall\t0.3727
iprec_at_recall_0.10  \tall\t0.7500
utility_1,-2,0,0      \tall\t-2.5000
ndcg_cut_3            \tall\t0.4663
success_1             \tall\t0.5000
success_5             \tall\t1.0000
success_10            \tall\t1.0000
"""


LEFT_OUT = (
    "rankframe: 1 of 3 judged queries is not in the run and was left out; -c counts it as 0.\n"
)
Output = tuple[int, str, str]
