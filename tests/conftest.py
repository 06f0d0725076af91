"""What the tests of every module share."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.kernel import batch, reading
from tests.support import postgres_server
from tests.support.browser import chromium
from tests.support.messages import Messages

TESTS = Path(__file__).parent
SMALL = 60_000
FEW_KILLS = 16
# Random inputs, by the names of the seeds in tests: how many are tried with `--all`, and how many
# without. TOGETHER inputs are one test.
RANDOM_INPUTS, FEWER, TOGETHER = {"seeds": 200, "calls": 80}, {"seeds": 20, "calls": 20}, 20

# Tests that run with `--all` only, by reason: the beginnings of their names, from tests/ on. A file
# or folder is not even imported without `--all`. Tests that use one of SLOW_FIXTURES are slow, too,
# and so are those with `@pytest.mark.slow`: what measures the process (memory, kills, signals). Of
# tests with crossed parameters, only so many cases are fast that every value has one.
SLOW_FIXTURES = {"browser", "postgres", "s3", "site", "spark"}
SLOW = {
    "large inputs": (
        "kernel/test_ranking.py::test_deep_uneven_and_tied_queries[deep-",
        "kernel/test_ranking.py::test_deep_uneven_and_tied_queries[even-",
        "kernel/test_ranking.py::test_deep_uneven_and_tied_queries[single-",
        "kernel/test_ranking.py::test_one_row_of_a_deep_query_where_all_scores_are_equal",
        "kernel/test_tables.py::test_threads_do_not_share_a_table",
        "kernel/test_tables.py::test_tables_of_every_size[65535-",
        "metrics/test_agreement.py::test_queries_do_not_touch_each_other",
        "io/test_memory.py::test_all_that_take_a_limit_read_large_text_so",
        "io/test_memory.py::test_text_that_is_larger_than_the_limit_gives_the_same_bits",
        "analysis/fusion/test_partitions.py::test_a_large_input_takes_more_and_gives_the_same",
        "analysis/curves/test_area.py::test_a_thinned_roc_curve_looks_the_same",
        "kernel/test_ranking.py::test_deep_uneven_and_tied_queries[uneven-distinct",
        "kernel/test_ranking.py::test_deep_uneven_and_tied_queries[uneven-huge",
        "kernel/test_ranking.py::test_deep_uneven_and_tied_queries[uneven-tiny",
        "trec_eval/test_text.py::test_many_queries_are_written_in_many_steps",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[qrels",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[items",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[train",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[run-.json.",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[run-.txt",
        "io/test_side_readers.py::test_what_is_held_as_a_whole_is_bounded",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[unit",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[queries",
        "io/formats/test_json_text.py::test_a_thousand_keys_are_not_listed",
        "kernel/test_read_contiguous.py::test_queries_longer_and_shorter_than_a_batch[long-1]",
    ),
    # One pass over formats, orders and partitions is in the fast part of contracts/test_bits.py.
    "the same bits again": (
        "analysis/fusion/test_fuse.py::test_same_bits",
        "analysis/tuning/test_tune.py::test_blocks_change_nothing",
        "analysis/tuning/test_tune.py::test_pieces_and_threads_change_no_bit",
        "contracts/test_bits.py::test_threads_have_the_same_hash",
        "contracts/test_groups.py::test_the_same_bits_in_pieces_and_in_any_order",
        "engine/test_agree.py::test_any_number_of_pieces_and_any_row_order_give_the_same_bits",
        "engine/test_evaluate.py::test_any_number_of_threads_gives_the_same_bits",
        "engine/test_evaluation.py::test_threads_change_nothing",
        "engine/test_finish.py::test_any_number_of_threads_gives_the_same_bits",
        "engine/test_partitions.py::test_any_length_of_stretches_gives_the_same_bits",
        "engine/test_partitions.py::test_a_small_limit_means_pieces_and_the_same_result",
        "engine/test_partitions.py::test_any_number_of_pieces_and_any_row_order_give_the_same_bits",
        "engine/test_result.py::test_in_pieces_files_have_the_same_bytes",
        "io/sources/test_arrow_tables.py::test_in_pieces_too",
        "io/test_list_columns.py::test_the_same_bits_as_the_long_form[True-8MB]",
        "io/test_roll_up.py::test_all_forms_layouts_and_pieces_give_the_same_bits[kept]",
        "engine/test_agree.py::test_policies_hold_in_pieces[{'k_max'",
        "engine/test_agree.py::test_policies_hold_in_pieces[{'missing'",
        "engine/test_partitions.py::test_policies_hold_in_pieces[scattered-{'judged_only'",
        "engine/test_partitions.py::test_policies_hold_in_pieces[scattered-{'missing'",
        "engine/test_partitions.py::test_policies_hold_in_pieces[scattered-{'no_relevant'",
        "engine/test_partitions.py::test_policies_hold_in_pieces[scattered-{'rel'",
        "engine/test_partitions.py::test_files_give_the_same_bits_and_count_every_row_once[300]",
        "io/test_roll_up.py::test_all_forms_layouts_and_pieces_give_the_same_bits[renumbered]",
        "io/test_list_columns.py::test_the_same_bits_as_the_long_form[False-8MB]",
        "trec_eval/test_evaluate.py::test_the_same_input_gives_the_same_bytes_in_any_order",
        "engine/test_partitions.py::test_policies_hold_in_pieces[scattered-{'ties'",
        "engine/test_partitions.py::test_values_that_vanish_are_an_error[sorted]",
        "analysis/tuning/test_tune.py::test_the_order_of_rows_changes_nothing",
        "engine/test_agree.py::test_policies_hold_in_pieces[{'unmatched_queries'",
        "engine/test_evaluate.py::test_shuffled_rows_give_the_same_bits",
        "engine/test_evaluation.py::test_row_order_and_pieces_change_nothing",
        "analysis/test_compare.py::test_pieces_and_the_order_of_rows_and_systems_do_not_show",
        "engine/test_accumulator.py::test_any_pieces_and_any_order_of_rows_give_the_same_bits",
        "analysis/test_diff.py::test_row_order_does_not_show",
    ),
    "many rounds": (
        "analysis/test_unjudged.py::test_scenarios_by_brute_force[1",
        "analysis/test_unjudged.py::test_scenarios_by_brute_force[2",
        "analysis/tuning/test_tune.py::test_it_is_what_fusing_and_evaluating_each_by_itself_gives[p",
        "analysis/tuning/test_tune.py::test_it_is_what_fusing_and_evaluating_each_by_itself_gives[m",
        "analysis/tuning/test_tune.py::test_what_is_trained_never_sees_what_it_is_valued_by",
        "engine/test_lookup.py::test_hashes_that_collide_change_nothing[65536-",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[grouped-",
        "engine/test_partitions.py::test_policies_hold_in_pieces[grouped-",
        "engine/test_partitions.py::test_policies_hold_in_pieces[sorted-",
        "kernel/test_read_contiguous.py::test_queries_longer_and_shorter_than_a_batch[end-1]",
        "kernel/test_read_contiguous.py::test_queries_longer_and_shorter_than_a_batch[one-1]",
        "kernel/test_read_contiguous.py::test_queries_longer_and_shorter_than_a_batch[one-2]",
        "stats/test_significance.py::test_wilcoxon_is_scipys[0.5-13]",
        "io/sources/test_spool.py::test_random_blanks_and_blocks",
        "io/test_batches.py::test_what_is_wrong_late_is_said_of_the_whole[sorted-",
        "metrics/test_correlation.py::test_correlations_agree_with_scipy[shared]",
        "metrics/test_correlation.py::test_pairs_one_by_one[shared]",
        "stats/test_bootstrap.py::test_poisson_weights_have_mean_and_variance_1",
        "stats/test_gaps.py::test_intervals_cover_where_there_is_no_gap",
        "stats/test_ordered_values.py::test_intervals_cover_at_least_as_often_as_they_say",
        "analysis/fusion/test_trained_lengths.py::test_lists_are_equally_long_in_training_and_use[1",
        "analysis/fusion/test_trained_lengths.py::test_lists_are_equally_long_in_training_and_use[2",
        "analysis/fusion/test_trained_lengths.py::test_lists_are_equally_long_in_training_and_use[3",
        "analysis/test_compare.py::test_what_no_number_of_permutations_can_show_is_said",
        "engine/test_document_metrics.py::test_counted_plainly_wherever_rows_are",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[scattered-beyond",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[scattered-dates",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[scattered-huge",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[scattered-large",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[scattered-other",
        "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give[scattered-small",
        "engine/test_partitions.py::test_rows_out_of_order_between_the_probes_are_noticed",
        "engine/test_partitions.py::test_the_number_of_pieces_has_a_limit",
        "frames/test_exposure.py::test_gap_by_definition_wherever_rows_are",
        "io/sources/test_spool.py::test_the_same_table_as_whole[comments_first",
        "io/sources/test_spool.py::test_the_same_table_as_whole[early_ranks",
        "io/sources/test_spool.py::test_the_same_table_as_whole[mark",
        "io/sources/test_spool.py::test_the_same_table_as_whole[more",
        "io/sources/test_spool.py::test_the_same_table_as_whole[ranks",
        "io/sources/test_spool.py::test_the_same_table_as_whole[text",
        "io/test_batches.py::test_what_is_wrong_late_is_said_of_the_whole[scattered-NaN",
        "io/test_batches.py::test_what_is_wrong_late_is_said_of_the_whole[scattered-infinity",
        "io/test_batches.py::test_what_is_wrong_late_is_said_of_the_whole[scattered-null",
        "io/test_lists.py::test_key_is_called_once_for_each_element_of_many_lists",
        "io/test_side_readers.py::test_a_json_document_that_is_large_for_the_limit_is_refused[run-.json.bz2]",
        "stats/test_randomisation.py::test_tukey_is_close_to_the_studentised_range",
        "analysis/test_compare.py::test_a_slice_is_what_its_queries_alone_give[tukey]",
        "analysis/test_unjudged.py::test_scenarios_by_brute_force[0-{'k_max'",
        "analysis/test_unjudged.py::test_the_value_as_evaluated_is_between[1]",
        "analysis/tuning/test_tune.py::test_it_is_what_fusing_and_evaluating_each_by_itself_gives[ndcg@5-2]",
        "kernel/test_read_contiguous.py::test_queries_longer_and_shorter_than_a_batch[single-1]",
        "spark/test_training.py::test_partitions_add_up[posfuse]",
        "engine/test_partitions.py::test_values_go_to_the_output_as_they_come",
        "cli/test_convert.py::test_convert_keeps_every_value_on_the_way_round",
        "analysis/test_compare.py::test_a_slice_is_what_its_queries_alone_give[randomisation]",
        "analysis/test_caveats.py::test_a_diff_and_a_tuning_warn_and_show_condensed_values",
        "cli/test_compare.py::test_compare_does_without_a_correction",
        "cli/test_compare.py::test_gaps_between_slices_are_compared",
        "cli/test_diff.py::test_regressions_by_traffic_under_the_names_of_runs",
        "cli/test_evaluate.py::test_slices_of_items_and_gaps_are_shown",
        "cli/test_outputs.py::test_where_every_judged_document_is_relevant",
        "cli/test_tune.py::test_runs_have_names",
        "cli/test_tune.py::test_tune_is_the_function",
    ),
    "crowds, forks and other processes": (
        "cli/test_app.py::test_a_reader_that_leaves_early_is_no_error",
        "cli/test_gate.py::test_what_becomes_of_its_output_is_no_verdict",
        "cli/test_process.py",
        "contracts/test_crowds.py::test_processes_that_are_spawned_after_an_evaluation",
        "contracts/test_import.py::test_everything_is_there_with_a_star_but_hides_no_builtin",
        "contracts/test_kills.py",
        "contracts/test_messages.py::test_an_update",
        "contracts/test_messages.py::test_messages_of_tests_that_are_gone",
        "core/test_allocators.py",
        "core/test_forks.py",
        "engine/test_partitions.py::test_a_full_disk_is_said_to_be_full_and_nothing_is_left",
        "io/test_outputs.py::test_what_was_set_aside_by_a_killed_process_is_put_back",
        "trec_eval/test_lines.py::test_a_full_disk_is_said_in_one_line",
        "trec_eval/test_lines.py::test_a_reader_that_leaves_early_is_no_error",
        "trec_eval/test_lines.py::test_lines_stay_in_order_on_the_way_to_a_file",
        "contracts/test_import.py::test_a_name_brings_what_it_needs",
        "trec_eval/test_lines.py::test_bad_files_end_with_one_line",
        "trec_eval/test_lines.py::test_long_options_may_be_cut_short",
        "contracts/test_crowds.py::test_tasks_of_asyncio",
        "cli/test_app.py::test_help_imports_nothing_heavy[['evaluate'",
        "cli/test_app.py::test_help_imports_nothing_heavy[['--version'",
        "contracts/test_crowds.py::test_threads",
        "cli/test_completion.py::test_nothing_heavy_is_imported_for_it[evaluate --missing",
    ),
    "servers, networks and table formats": (
        "io/sources/test_databases.py::test_the_password_is_nowhere_in_what_is_made",
        "io/test_remote.py",
        "io/sources/test_folders.py::test_an_iceberg_table_is_read_as_it_is_now",
    ),
    "pages, charts of the pages, and what is generated": (
        "cli/test_app.py::test_examples_run[demo]",
        "cli/test_app.py::test_examples_run[history]",
        "cli/test_app.py::test_examples_run[plot]",
        "cli/test_app.py::test_examples_run[report]",
        "cli/test_demo.py::test_what_to_try_next_works",
        "contracts/test_docs.py::test_charts_are_drawn_by_one_command",
        "contracts/test_docs.py::test_what_is_generated_is_up_to_date",
        "contracts/test_docs.py::test_what_is_stale_is_named_and_mended",
        "contracts/test_migrating.py",
        "contracts/test_pages.py",
        "contracts/test_readme.py",
        "contracts/test_site.py",
        "cli/test_app.py::test_examples_run[compare]",
        "cli/test_app.py::test_examples_run[diff]",
        "cli/test_app.py::test_examples_run[trec_eval]",
        "cli/test_demo.py::test_the_demo_of_a_recommender",
        "cli/test_demo.py::test_demo_evaluates_the_shipped_data_and_says_what_next",
        "cli/test_app.py::test_examples_run[evaluate]",
        "cli/test_gate.py::test_the_rules_of_the_documentation_hold",
    ),
    # The engine that draws charts takes up to a second for each.
    "drawings again": (
        "cli/test_plot.py::test_a_list_in_every_format_with_its_look",
        "cli/test_report.py::test_a_page_takes_what_a_comparison_does",
        "present/charts/test_canvas.py::test_long_curves_are_thinned",
        "present/charts/test_draw.py::test_every_chart_is_drawn_of_files",
        "present/charts/test_draw.py::test_every_format_is_drawn",
        "present/charts/test_draw.py::test_the_same_input_gives_the_same_bytes",
        "present/charts/test_offline_charts.py",
        "present/report/test_drawings.py",
        "present/report/test_in_browser.py",
        "present/report/test_report.py::test_a_report_keeps_the_best_of_duplicates_everywhere",
        "present/report/test_report.py::test_a_report_of_lists_that_are_cut",
        "present/report/test_report.py::test_a_verdict_on_every_run_beside_the_baseline",
        "present/report/test_report.py::test_of_many_queries_curves_are_of_a_sample",
        "present/report/test_report.py::test_the_same_data_gives_the_same_page",
        "analysis/test_caveats.py::test_the_first_screen_of_a_report_says_it",
        "cli/test_report.py::test_a_page_has_a_verdict_titles_and_its_command",
        "metrics/test_metric.py::test_a_report_is_about_it_in_its_direction",
        "present/report/test_report.py::test_every_input_is_read_once",
        "present/report/test_report.py::test_one_run_alone_has_a_page_too",
        "analysis/test_document_comparison.py::test_a_report_has_metrics_over_documents",
        "analysis/test_document_comparison.py::test_a_report_shows_gaps",
        "analysis/test_missing_queries.py::test_a_report_refuses_and_warns_as_a_comparison_does",
        "cli/test_history.py::test_a_table_a_file_and_a_chart",
        "cli/test_plot.py::test_a_chart_is_drawn[slices",
        "cli/test_plot.py::test_a_chart_is_drawn[discounts",
        "cli/test_plot.py::test_charts_of_rankings_and_of_several_metrics[bump",
        "cli/test_plot.py::test_charts_of_rankings_and_of_several_metrics[precision_at",
        "cli/test_plot.py::test_charts_of_rankings_and_of_several_metrics[agreement",
        "present/charts/test_curve_charts.py::test_curves_say_over_how_much_they_are",
        "present/report/test_report.py::test_a_page_needs_a_run_and_no_non_relevant_document",
        "present/report/test_report.py::test_hostile_names_stay_text",
        "cli/test_plot.py::test_a_chart_is_drawn[roc",
        "present/charts/test_list_charts.py::test_a_strip_is_relevant_where_the_list_is",
        "present/charts/test_list_charts.py::test_long_lists_are_cut_and_it_is_said",
        "present/charts/test_query_charts.py::test_a_panel_for_each_system",
        "present/charts/test_rank_charts.py::test_a_sample_of_queries_is_always_the_same",
        "present/charts/test_rank_charts.py::test_many_documents_are_cut_and_it_is_said",
        "present/charts/test_slice_charts.py::test_a_forest_without_a_baseline_is_of_pairs",
        "present/charts/test_slice_charts.py::test_of_several_systems_a_map_is_of_one_metric",
        "present/charts/test_system_charts.py::test_long_histories_are_the_last_results",
        "cli/test_report.py::test_a_page_is_written",
    ),
    "oracles that compile themselves": (
        "against/test_ranx.py",
        "against/test_ranx_fusion.py",
    ),
}  # fmt: skip
# Tests whose cases go the same way: how many of the cases, evenly spread, are fast.
FEW = {
    "against/test_pytrec_eval.py::test_recall_points_are_rounded_half_away_from_zero": 12,
    "against/test_trec_groups.py::test_same_averages_over_groups": 5,
    "against/test_trec_groups.py::test_same_values_of_preferences": 5,
    "against/test_trec_groups.py::test_same_values_of_qrels_read_as_preferences": 4,
    "analysis/curves/test_curve.py::test_a_metric_at_k_is_that_metric": 3,
    "analysis/curves/test_curve.py::test_a_slice_is_the_curve_of_its_queries": 3,
    "analysis/curves/test_curve.py::test_row_order_does_not_show": 5,
    "analysis/fusion/test_trained_lengths.py::test_lists_are_equally_long_in_training_and_use": 3,
    "analysis/test_stored.py::test_stored_values_give_the_table_of_the_runs": 3,
    "analysis/test_stored.py::test_values_under_other_policies_are_refused": 1,
    "analysis/test_unjudged_bounds.py::test_no_grades_give_less_or_more": 6,
    "analysis/tuning/test_tune.py::test_policies_are_those_of_an_evaluation": 2,
    "cli/test_app.py::test_bad_usage_ends_with_one_line_and_code_2": 8,
    "cli/test_app.py::test_help_fits_the_terminal_and_shows_what_to_type": 5,
    "cli/test_app.py::test_names_from_outside_are_shown_and_do_nothing": 5,
    "cli/test_compare.py::test_compare_speaks_other_formats": 2,
    "cli/test_completion.py::test_tab_completes": 12,
    "cli/test_gate.py::test_the_gate_ends_with_its_verdict": 3,
    "cli/test_outputs.py::test_names_appear_in_what_is_printed": 2,
    "cli/test_tune.py::test_tune_speaks_other_formats": 1,
    "contracts/test_metrics.py::test_what_takes_2_to_the_power_of_a_grade_says_so": 12,
    "engine/test_lookup.py::test_ids_of_any_type_give_what_the_same_as_text_give": 4,
    "engine/test_partitions.py::test_pieces_that_vanish_are_an_error": 2,
    "io/formats/test_numbers.py::test_large_whole_scores_are_ranked_as_whole_numbers": 2,
    "io/sources/test_spool.py::test_mistakes_are_said_of_the_whole": 4,
    "io/sources/test_spool.py::test_the_same_table_as_whole": 6,
    "io/test_batches.py::test_what_is_wrong_late_is_said_of_the_whole": 2,
    "io/test_list_columns.py::test_wherever_the_table_lies": 2,
    "io/test_opening.py::test_every_kind_of_input_gives_the_same_result": 10,
    "present/charts/test_canvas.py::test_every_chart_has_a_title_and_takes_its_look": 6,
    "present/charts/test_slice_charts.py::test_names_that_vega_could_misread": 1,
    "trec_eval/test_evaluate.py::test_a_level_below_0_is_0_where_every_document_is_judged": 1,
    "trec_eval/test_lines.py::test_bad_usage_ends_with_one_line": 6,
}
WHOLE_FILES = {name for names in SLOW.values() for name in names if "::" not in name}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spark-rows",
        type=int,
        default=SMALL,
        help="about how many retrieved documents tests/spark/test_cluster.py evaluates",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=FEW_KILLS,
        help="how many processes tests/contracts/test_kills.py kills at random moments; more than"
        " 16: also at every step",
    )
    parser.addoption(
        "--inputs",
        type=int,
        help="how many random inputs the tests try that make some, each: 2000, say",
    )
    parser.addoption(
        "--memory-times",
        type=int,
        default=0,
        help="measure peaks of memory, with so many times 2.5M rows and 320 MB: 8, say",
    )
    parser.addoption("--all", action="store_true", help="also the tests that are slow")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of slow tests, unless all tests are asked for."""
    if config.getoption("--all") or not collection_path.is_relative_to(TESTS):
        return None
    return collection_path.relative_to(TESTS).as_posix() in WHOLE_FILES or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as slow by the table, and leave them out unless all tests are asked for."""
    beginnings = tuple(name for names in SLOW.values() for name in names)
    names = [item.nodeid.removeprefix("tests/") for item in items]
    if config.getoption("--all") and config.args_source is config.ArgsSource.TESTPATHS:
        stale = [b for b in (*beginnings, *FEW) if not any(name.startswith(b) for name in names)]
        if stale:
            raise pytest.UsageError(f"tests/conftest.py: no test begins with {stale[0]!r}")
    for item, name in zip(items, names, strict=True):
        fixtures = getattr(item, "fixturenames", ())
        if name.startswith(beginnings) or not SLOW_FIXTURES.isdisjoint(fixtures):
            item.add_marker(pytest.mark.slow)
    for item in _further_combinations(items):
        item.add_marker(pytest.mark.slow)
    for beginning, count in FEW.items():
        cases = [
            item
            for item, name in zip(items, names, strict=True)
            if name.startswith(f"{beginning}[") and not item.get_closest_marker("slow")
        ]
        fast = {at * len(cases) // count for at in range(count)}
        for at, item in enumerate(cases):
            if at not in fast:
                item.add_marker(pytest.mark.slow)
    if not config.getoption("--all"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        if slow:
            config.hook.pytest_deselected(items=slow)
            items[:] = [item for item in items if not item.get_closest_marker("slow")]


def _further_combinations(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of crossed parameters that have no value which no case before them has.

    With three values of one parameter and four of another, four of the twelve cases have every
    value once. The fast tests are these four.
    """
    by_function: dict[str, list[tuple[pytest.Item, set[tuple[object, ...]]]]] = {}
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or item.get_closest_marker("slow"):
            continue
        together = [tuple(_names(mark.args[0])) for mark in item.iter_markers("parametrize")]
        alone = call.params.keys() - {name for names in together for name in names}
        groups = [*together, *((name,) for name in sorted(alone))]
        if len(groups) > 1:
            # A value is the same object in every case that has it.
            values: set[tuple[object, ...]] = {
                (names, *(id(call.params[name]) for name in names)) for names in groups
            }
            by_function.setdefault(item.nodeid.split("[")[0], []).append((item, values))
    further = []
    for cases in by_function.values():
        seen: set[tuple[object, ...]] = set()
        while cases:
            best = max(cases, key=lambda case: len(case[1] - seen))
            if best[1] <= seen:
                break
            seen |= best[1]
            cases.remove(best)
        further += [item for item, _ in cases]
    return further


def _names(argnames: str | list[str] | tuple[str, ...]) -> list[str]:
    return argnames.replace(",", " ").split() if isinstance(argnames, str) else list(argnames)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Seeds of random inputs, some in each test, so that workers share them."""
    for name in RANDOM_INPUTS.keys() & set(metafunc.fixturenames):
        asked = metafunc.config.getoption("inputs")
        count = int(str(asked or RANDOM_INPUTS[name]))
        fast = count if asked else FEWER[name]
        batches = [
            pytest.param(
                range(start, min(start + TOGETHER, count)),
                marks=[pytest.mark.slow] if start >= fast else [],
                id=f"{start}-{min(start + TOGETHER, count) - 1}",
            )
            for start in range(0, count, TOGETHER)
        ]
        metafunc.parametrize(name, batches)


@pytest.fixture
def qrels() -> pl.DataFrame:
    """Two judged queries: q1 with grades 2, 1 and 0, q2 with one relevant document."""
    return pl.DataFrame(
        {
            "query_id": ["q1", "q1", "q1", "q2"],
            "doc_id": ["a", "b", "c", "d"],
            "relevance": [2, 1, 0, 1],
        }
    )


@pytest.fixture
def run() -> pl.DataFrame:
    """A run for both: q1 ranks x, a, c; q2 ranks d."""
    return pl.DataFrame(
        {
            "query_id": ["q1", "q1", "q1", "q2"],
            "doc_id": ["a", "x", "c", "d"],
            "score": [0.5, 0.9, 0.1, 7.0],
        }
    )


@pytest.fixture
def refusal(message: Messages) -> Callable[..., str]:
    """Call something that must raise a RankframeError, and return its message.

    The type and the message of the error are compared with the stored ones in tests/messages.
    """

    def call(function: Callable[..., object], *args: object, **options: object) -> str:
        error = raised(function, *args, **options)
        message(f"{type(error).__name__}: {error}")
        return str(error)

    return call


@pytest.fixture
def error_of() -> Callable[..., rf.RankframeError]:
    """Call something that must raise a RankframeError, and return it.

    Use `refusal` instead, unless the message differs from run to run.
    """
    return raised


def raised(function: Callable[..., object], *args: object, **options: object) -> rf.RankframeError:
    with pytest.raises(rf.RankframeError) as caught:
        function(*args, **options)
    return caught.value


@pytest.fixture
def set_batch_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Read runs in batches of so many rows, however small they are."""

    def set_rows(rows: int) -> None:
        monkeypatch.setattr(reading, "SMALL_INPUT", 0)
        monkeypatch.setattr(reading, "BATCH_ROWS", rows)

    return set_rows


@pytest.fixture
def set_hash(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[..., pl.Expr]], None]]:
    """Hash ids with another function, such as one that gives many ids equal hashes."""

    def set_hash(function: Callable[..., pl.Expr]) -> None:
        batch.hash_of_empty_text.cache_clear()
        monkeypatch.setattr(batch, "hash_of", function)

    yield set_hash
    batch.hash_of_empty_text.cache_clear()


@pytest.fixture
def set_scratch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make temporary files in another folder."""
    return lambda folder: monkeypatch.setattr(tempfile, "tempdir", str(folder))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """A real browser."""
    with chromium(tmp_path / "profile") as driver:
        yield driver


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """A server of S3."""
    pytest.importorskip("moto", reason="moto is not installed")
    from tests.support.s3_server import serving

    with serving() as server:
        yield server


@pytest.fixture
def s3_environment(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same, and an environment that leads there."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return s3


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL, password and all."""
    pytest.importorskip("adbc_driver_postgresql", reason="its driver is not installed")
    if not (os.environ.get(postgres_server.GIVEN) or postgres_server.programs()):
        pytest.skip(f"no PostgreSQL here, nor in {postgres_server.GIVEN}")
    with postgres_server.serving() as address:
        yield address
