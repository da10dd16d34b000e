"""Which case is there to catch which mistakes.

A mistake is targeted by a case that is about the clause that it breaks, and that shows little else. The matrix of
``attnspec mistakes --matrix`` proves that the case catches it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.recipes.authoring import AuthoredCase

TARGETS: Mapping[str, tuple[str, ...]] = {
    "alibi/both_sides": (
        "sdpa.alibi_ignored",
        "sdpa.alibi_sign_flipped",
        "sdpa.alibi_signed_distance",
        "sdpa.alibi_future_unbiased",
    ),
    "alibi/grouped_causal": ("sdpa.alibi_of_shared_head",),
    "alibi/more_queries_bottom": ("sdpa.alibi_from_row",),
    "alibi/not_scaled": ("sdpa.alibi_scaled_too",),
    "alibi/three_heads": (
        "sdpa.alibi_of_first_head",
        "sdpa.alibi_standard_slopes",
    ),
    "cache/boolean_mask": ("sdpa.past_appended",),
    "cache/buffer_causal_probe": (
        "sdpa.alignment_of_first_entry",
        "sdpa.key_lengths_not_aligned",
    ),
    "cache/decode_not_causal": ("sdpa.past_of_first_entry",),
    "cache/more_positions_than_a_signed_byte": ("sdpa.positions_in_int8",),
    "cache/past_causal_powers": (
        "sdpa.past_position_ignored",
        "sdpa.past_position_one_short",
        "sdpa.causal_skipped_with_past",
        "sdpa.cache_written_in_place",
    ),
    "cache/past_other_values": ("sdpa.past_ignored",),
    "cache/present": ("sdpa.present_without_past",),
    "cache/present_without_past": ("sdpa.present_key_scaled",),
    "cache/unequal_bottom_right": ("sdpa.bottom_right_without_past",),
    "causal/more_positions_than_a_byte": ("sdpa.positions_in_uint8",),
    "causal/one_key_bottom_right_probe": (
        "sdpa.bottom_right_as_top_left",
        "sdpa.negative_offset_as_zero",
        "sdpa.bottom_right_one_early",
        "sdpa.bottom_right_one_late",
    ),
    "causal/one_key_top_left_probe": ("sdpa.top_left_as_bottom_right",),
    "causal/one_query_top_left_probe": ("sdpa.causal_skipped_for_one_query",),
    "causal/square_mask_of_the_rest": (
        "sdpa.mask_transposed",
        "sdpa.mask_skipped_with_causal",
    ),
    "causal/square_off": (
        "sdpa.query_and_key_swapped",
        "sdpa.weights_transposed",
    ),
    "causal/square_probe": (
        "sdpa.causal_ignored",
        "sdpa.causal_one_ahead",
        "sdpa.causal_in_groups_of_four",
    ),
    "causal/top_float_mask": ("sdpa.causal_skipped_with_mask",),
    "causal/top_steps": (
        "sdpa.zeroed_after_softmax",
        "sdpa.epsilon_in_denominator",
    ),
    "core/no_batch_entries": (
        "sdpa.output_tokens_before_heads",
        "sdpa.output_in_float64",
        "sdpa.output_not_narrowed",
    ),
    "core/one_head": ("sdpa.key_of_first_entry",),
    "core/one_key": ("sdpa.value_of_first_entry",),
    "core/scale_zero": (
        "sdpa.stated_scale_ignored",
        "sdpa.zero_scale_as_default",
        "sdpa.stated_scale_divided",
    ),
    "core/self_attention": (
        "sdpa.key_reshaped",
        "sdpa.odd_feature_dropped",
        "sdpa.attends_across_heads",
        "sdpa.scores_in_bfloat16",
    ),
    "core/uniform": (
        "sdpa.softmax_over_queries",
        "sdpa.softmax_over_all",
        "sdpa.last_tile_filled_with_zeros",
        "sdpa.halves_averaged",
        "sdpa.halves_merged_to_base_two",
    ),
    "core/value_width_1_4": ("sdpa.output_as_wide_as_queries",),
    "core/values_of_one": (
        "sdpa.weights_not_normalised",
        "sdpa.normaliser_multiplied",
    ),
    "core/values_of_zero": ("sdpa.keys_averaged",),
    "core/width_1": (
        "sdpa.scale_from_all_heads",
        "sdpa.scale_from_number_of_heads",
        "sdpa.scale_from_number_of_keys",
    ),
    "core/width_2": (
        "sdpa.scale_missing",
        "sdpa.scale_multiplied",
        "sdpa.scale_one_over_width",
    ),
    "core/width_33": ("sdpa.scale_from_value_width",),
    "documents/000/scores_far_apart": ("sdpa.maximum_axis_lost",),
    "documents/001/single_head": ("single_head.weights_overwrite_scores",),
    "documents/001/softmax_of_queries": ("softmax.maximum_axis_lost",),
    "grouped_query/which_head": (
        "sdpa.heads_tiled",
        "sdpa.first_head_for_all",
        "sdpa.heads_by_number_of_groups",
        "sdpa.heads_reversed",
        "sdpa.values_tiled",
    ),
    "layout/causal_mask_far_offset": (
        "causal_mask.inverted",
        "causal_mask.upper_triangle",
        "causal_mask.offset_ignored",
        "causal_mask.always_square",
        "causal_mask.true_means_masked",
    ),
    "layout/causal_mask_square": (
        "causal_mask.own_position_excluded",
        "causal_mask.next_position_included",
    ),
    "layout/causal_mask_square_additive": (
        "causal_mask.additive_ignored",
        "causal_mask.kept_value_four",
        "causal_mask.kept_value_one",
        "causal_mask.finite_number",
    ),
    "layout/combine_heads_of_one_feature": (
        "combine_heads.not_transposed",
        "combine_heads.summed",
    ),
    "layout/combine_heads_two": ("combine_heads.interleaved",),
    "layout/context_one_token": (
        "context_vector.scale_missing",
        "context_vector.scale_multiplied",
        "context_vector.scale_from_number_of_tokens",
        "context_vector.scale_one_over_width",
    ),
    "layout/context_scale": ("context_vector.uniform_mean",),
    "layout/context_scale_zero": (
        "context_vector.stated_scale_ignored",
        "context_vector.scores_as_weights",
        "context_vector.softmax_missing",
    ),
    "layout/context_square": (
        "context_vector.score_of_every_feature",
        "context_vector.weights_on_features",
    ),
    "layout/glorot_normal_wide": (
        "glorot_normal.variance_as_deviation",
        "glorot_normal.he_deviation",
        "glorot_normal.one_over_sum",
        "glorot_normal.uniform",
        "glorot_normal.truncated",
        "glorot_normal.mean_shifted",
        "glorot_normal.only_positive",
        "glorot_normal.transposed",
        "glorot_normal.seed_ignored",
    ),
    "layout/multi_head_causal_and_mask": (
        "multi_head.mask_ignored",
        "multi_head.boolean_mask_inverted",
        "multi_head.mask_of_first_batch_entry",
        "multi_head.causal_ignored",
        "multi_head.causal_inverted",
        "multi_head.causal_strict",
        "multi_head.causal_skipped_with_mask",
    ),
    "layout/multi_head_causal_and_mask_of_heads": ("multi_head.three_axes_as_batch",),
    "layout/multi_head_float_mask_rank_2": (
        "multi_head.mask_subtracted",
        "multi_head.float_mask_as_boolean",
        "multi_head.mask_scaled_too",
    ),
    "layout/multi_head_heads_of_one": (
        "multi_head.split_not_transposed",
        "multi_head.scale_from_model_width",
        "multi_head.combine_not_transposed",
    ),
    "layout/multi_head_one_head": (
        "multi_head.weight_matrices_transposed",
        "multi_head.query_projection_for_keys",
        "multi_head.scale_missing",
        "multi_head.scale_multiplied",
        "multi_head.output_projection_missing",
        "multi_head.output_projection_transposed",
        "multi_head.residual_added",
    ),
    "layout/multi_head_only_b_key": (
        "multi_head.normaliser_multiplied",
        "multi_head.weights_averaged",
    ),
    "layout/multi_head_only_b_output": ("multi_head.output_bias_dropped",),
    "layout/multi_head_only_b_query": ("multi_head.query_bias_dropped",),
    "layout/multi_head_only_b_value": (
        "multi_head.biases_dropped",
        "multi_head.value_bias_dropped",
    ),
    "layout/multi_head_scale_zero": (
        "multi_head.split_interleaved",
        "multi_head.stated_scale_ignored",
        "multi_head.combine_interleaved",
    ),
    "layout/single_head_one_token": ("single_head.value_not_projected",),
    "layout/single_head_plain_other_values": (
        "single_head.scale_missing",
        "single_head.scale_multiplied",
        "single_head.scale_from_model_width",
        "single_head.scale_from_number_of_tokens",
    ),
    "layout/single_head_scale": (
        "single_head.query_and_key_weights_swapped",
        "single_head.scores_transposed",
    ),
    "layout/single_head_scale_zero": (
        "single_head.stated_scale_ignored",
        "single_head.weights_summed_out",
    ),
    "layout/single_head_square": (
        "single_head.weight_matrices_transposed",
        "single_head.output_projection_missing",
        "single_head.output_projection_transposed",
    ),
    "layout/softmax_columns": (
        "softmax.whole_array_always",
        "softmax.last_axis_always",
        "softmax.opposite_axis",
    ),
    "layout/softmax_far_apart": ("softmax.global_maximum",),
    "layout/softmax_large": ("softmax.no_maximum",),
    "layout/softmax_negative": ("softmax.maximum_started_at_zero",),
    "layout/softmax_one_column": (
        "softmax.first_axis_always",
        "softmax.whole_array_by_default",
        "softmax.epsilon_in_denominator",
    ),
    "layout/softmax_vector": (
        "softmax.not_normalised",
        "softmax.normaliser_multiplied",
        "softmax.powers_of_two",
        "softmax.logarithm_returned",
    ),
    "layout/softmax_whole_table": ("softmax.null_axis_as_last",),
    "layout/split_heads_one": ("split_heads.tokens_before_heads",),
    "layout/split_heads_two": (
        "split_heads.not_transposed",
        "split_heads.interleaved",
    ),
    "logsumexp/dead_row": (
        "sdpa.logsumexp_plus_infinity",
        "sdpa.logsumexp_zero_if_empty",
    ),
    "logsumexp/float_mask_of_ones": ("sdpa.logsumexp_before_exclusion",),
    "logsumexp/sinks": ("sdpa.sink_missing_in_logsumexp",),
    "logsumexp/two_equal_scores": (
        "sdpa.logsumexp_without_maximum",
        "sdpa.logsumexp_base_two",
        "sdpa.logsumexp_is_maximum",
    ),
    "masking/bias_is_not_scaled": ("sdpa.mask_scaled_too",),
    "masking/boolean_negative_scale": ("sdpa.negative_scale_made_positive",),
    "masking/boolean_rank_3_batch_equals_heads": ("sdpa.three_axes_as_batch",),
    "masking/boolean_rank_3_row": ("sdpa.mask_of_first_head",),
    "masking/boolean_rank_3_shared": ("sdpa.mask_of_first_query",),
    "masking/boolean_rank_4_batch_row": ("sdpa.mask_of_first_batch_entry",),
    "masking/dead_everything": (
        "sdpa.fully_masked_row_nan",
        "sdpa.fully_masked_row_uniform",
    ),
    "masking/no_keys": (
        "sdpa.no_keys_nan",
        "sdpa.no_keys_crash",
    ),
    "masking/true_may_be_attended": (
        "sdpa.boolean_mask_inverted",
        "sdpa.boolean_mask_added",
    ),
    "masking/zeros_and_ones": (
        "sdpa.mask_ignored",
        "sdpa.mask_subtracted",
        "sdpa.float_mask_as_boolean",
        "sdpa.finite_mask_ignored",
    ),
    "memory/gapped_query": ("sdpa.gaps_ignored",),
    "memory/heads_last_key": ("sdpa.strides_ignored",),
    "memory/heads_last_mask": ("sdpa.mask_strides_ignored",),
    "memory/lengths_readonly": ("sdpa.padding_cleared_in_place",),
    "memory/past_readonly": ("sdpa.query_scaled_in_place",),
    "memory/repeated_causality": ("sdpa.causality_remembered",),
    "memory/repeated_the_mask": ("sdpa.mask_remembered",),
    "memory/repeated_the_scale": (
        "sdpa.scale_remembered",
        "sdpa.key_remembered",
    ),
    "memory/reversed_query": ("sdpa.direction_ignored",),
    "nonfinite/no_row_may": (
        "sdpa.excluded_value_leaks",
        "sdpa.excluded_key_leaks",
    ),
    "nonfinite/scale_zero": (
        "sdpa.nan_suppressed",
        "sdpa.scores_made_finite",
    ),
    "rejects/batch_of_one": ("sdpa.batch_not_checked",),
    "rejects/context_vector_widths": ("context_vector.width_not_checked",),
    "rejects/grouped_fewer_than_shared": ("sdpa.heads_not_checked",),
    "rejects/length_fewer_values": ("sdpa.tokens_not_checked",),
    "rejects/mask_of_four_columns": ("sdpa.mask_not_checked",),
    "rejects/multi_head_four_heads": ("multi_head.remainder_dropped",),
    "rejects/multi_head_rank_2": ("multi_head.rank_not_checked",),
    "rejects/query_length_beyond_the_queries": ("sdpa.lengths_not_checked",),
    "rejects/rank_3": ("sdpa.rank_not_checked",),
    "rejects/split_heads_of_eight_features": ("split_heads.remainder_dropped",),
    "rejects/width_narrower_keys": ("sdpa.width_not_checked",),
    "sinks/grouped_steps": ("sdpa.sink_of_shared_head",),
    "sinks/halves_a_single_key": (
        "sdpa.sinks_ignored",
        "sdpa.sink_on_first_key",
        "sdpa.sink_not_exponentiated",
        "sdpa.sink_missing_in_weights",
    ),
    "sinks/no_keys": ("sdpa.sink_masked_with_the_keys",),
    "sinks/plain_other_values": (
        "sdpa.sink_of_first_head",
        "sdpa.sinks_scaled",
    ),
    "sinks/zero": ("sdpa.sink_not_shifted",),
    "softcap/after_the_scale": ("sdpa.softcap_before_scale",),
    "softcap/bias_is_not_capped": ("sdpa.softcap_after_bias",),
    "softcap/half": (
        "sdpa.softcap_ignored",
        "sdpa.softcap_clipped",
        "sdpa.softcap_not_multiplied_back",
        "sdpa.softcap_argument_undivided",
    ),
    "softcap/hidden_key_is_not_capped": (
        "sdpa.softcap_after_mask",
        "sdpa.mask_negated_in_place",
    ),
    "softcap/off_by_zero": ("sdpa.softcap_zero_applied",),
    "softcap/saturated": ("sdpa.weights_before_exclusion",),
    "softcap/sinks": ("sdpa.sinks_capped",),
    "stress/gap_first_tile_hidden": ("sdpa.hidden_tile_nan",),
    "stress/gap_one_key_billions": ("sdpa.excluded_by_a_billion",),
    "stress/gap_one_key_boolean": ("sdpa.excluded_by_a_finite_number",),
    "stress/large_positive": ("sdpa.global_maximum",),
    "stress/multi_head_large_scores": ("multi_head.maximum_axis_lost",),
    "stress/multi_head_scores_far_below": (
        "multi_head.keys_and_values_swapped",
        "multi_head.softmax_over_queries",
        "multi_head.no_maximum",
        "multi_head.softmax_over_heads",
    ),
    "stress/near_ties": ("sdpa.exponential_approximated",),
    "stress/raw_products_beyond_float16": ("sdpa.scores_in_float16",),
    "stress/rising_17": ("sdpa.tiles_not_rescaled",),
    "stress/scores_at_the_edge_of_float16": ("sdpa.maximum_started_at_zero",),
    "stress/scores_beyond_float16": (
        "sdpa.no_maximum",
        "sdpa.fixed_shift_of_ten",
    ),
    "stress/single_head_large_scores": (
        "single_head.softmax_over_queries",
        "single_head.softmax_over_all",
        "single_head.softmax_missing",
        "single_head.no_maximum",
    ),
    "stress/small_weight_large_value": ("sdpa.weights_in_bfloat16",),
    "stress/sum_beyond_float16": ("sdpa.computed_in_float32",),
    "stress/uniform_ones_513": ("sdpa.summed_in_half_precision",),
    "tails/keys_31_winner_last": (
        "sdpa.last_keys_dropped_of_8",
        "sdpa.last_keys_dropped_of_16",
    ),
    "tails/keys_33_all_negative": ("sdpa.last_keys_dropped_of_32",),
    "tails/queries_129": ("sdpa.last_queries_dropped",),
    "varlen/alone_1": (
        "sdpa.causal_inverted",
        "sdpa.causal_strict",
    ),
    "varlen/causal_queries_bottom": ("sdpa.query_lengths_not_aligned",),
    "varlen/key_lengths_probe": ("sdpa.key_length_of_first_entry",),
    "varlen/no_queries_in_one_entry": ("sdpa.query_lengths_hide_keys",),
    "varlen/one_key_each": (
        "sdpa.key_lengths_ignored",
        "sdpa.key_length_one_more",
        "sdpa.key_length_one_short",
        "sdpa.key_lengths_cumulated",
        "sdpa.padding_at_the_start",
        "sdpa.padding_zeroed",
    ),
    "varlen/query_lengths": ("sdpa.lengths_swapped",),
    "window/bounds_0_0": (
        "sdpa.window_ignored",
        "sdpa.window_left_one_more",
        "sdpa.window_left_ignored",
        "sdpa.window_needs_causal",
        "sdpa.window_needs_mask",
    ),
    "window/bounds_0_1": ("sdpa.window_sides_swapped",),
    "window/bounds_5_5": ("sdpa.window_left_one_short",),
    "window/bounds_open_0": ("sdpa.window_zero_as_open",),
    "window/bounds_open_2": (
        "sdpa.window_right_one_short",
        "sdpa.window_right_one_more",
        "sdpa.window_symmetric",
        "sdpa.window_right_ignored",
    ),
    "window/bounds_open_open": ("sdpa.window_open_side_as_zero",),
    "window/causal_bottom_right": ("sdpa.window_around_row",),
    "window/causal_open_left": ("sdpa.window_replaces_causal",),
    "window/causal_top_left": ("sdpa.window_at_the_end",),
}
"""Id of a case to the ids of the mistakes that it is there to catch."""


def with_targets(cases: Sequence[AuthoredCase]) -> tuple[AuthoredCase, ...]:
    """Say of each case which mistakes it is there to catch.

    Raises
    ------
    RecipeError
        If a case that should catch a mistake does not exist.
    """
    known = {case.id for case in cases}
    for case_id, mistakes in TARGETS.items():
        if case_id not in known:
            raise RecipeError(f"{case_id!r} is there to catch {', '.join(mistakes)}, but no recipe makes it.")
    return tuple(replace(case, targets=(*case.targets, *TARGETS.get(case.id, ()))) for case in cases)
