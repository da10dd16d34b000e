"""Which case is there to catch which mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TARGETS: Mapping[str, tuple[str, ...]] = {
    "rotary/apply_as_many_heads_as_tokens_half": ("apply_rotary.heads_as_tokens",),
    "rotary/apply_batch_half": ("apply_rotary.first_entry",),
    "rotary/apply_cancelling_half": (
        "apply_rotary.pairing_exchanged",
        "apply_rotary.first_head_only",
        "apply_rotary.turned_back",
        "apply_rotary.minus_missing",
        "apply_rotary.first_overwritten",
        "apply_rotary.twice",
    ),
    "rotary/apply_cancelling_interleaved": ("apply_rotary.pairing_ignored",),
    "rotary/apply_default": ("apply_rotary.interleaved_by_default",),
    "rotary/apply_digits_half": ("apply_rotary.rest_in_bfloat16",),
    "rotary/apply_fortran_features_half": ("apply_rotary.strides_ignored",),
    "rotary/apply_infinity_half": ("apply_rotary.by_whole_matrix",),
    "rotary/apply_one_array_as_both_tables_half": ("apply_rotary.written_in_place",),
    "rotary/apply_partial_odd_half": ("apply_rotary.rest_rotated",),
    "rotary/apply_nan_half": ("apply_rotary.nan_zeroed",),
    "rotary/apply_one_pair_half": (
        "apply_rotary.tokens_reversed",
        "apply_rotary.first_token",
    ),
    "rotary/apply_still_half": (
        "apply_rotary.second_from_wrong_products",
        "apply_rotary.part_by_part",
    ),
    "rotary/apply_still_interleaved": ("apply_rotary.not_put_back",),
    "rotary/apply_whole_interleaved": ("apply_rotary.cosines_remembered",),
    "rotary/apply_width_64": ("apply_rotary.tables_for_other_pairing",),
    "rotary/apply_width_80_partial": (
        "apply_rotary.paired_across_head",
        "apply_rotary.rest_zeroed",
        "apply_rotary.last_features",
        "apply_rotary.rest_dropped",
    ),
    "rotary/frequencies_dynamic_factor_1": (
        "rotary_frequencies.dynamic_stretched_by_factor",
        "rotary_frequencies.dynamic_exponent_missing",
    ),
    "rotary/frequencies_dynamic_long": (
        "rotary_frequencies.dynamic_by_factor",
        "rotary_frequencies.dynamic_ignored",
    ),
    "rotary/frequencies_dynamic_short": ("rotary_frequencies.dynamic_shrinks", "rotary_frequencies.length_remembered"),
    "rotary/frequencies_factor_beside_none": ("rotary_frequencies.attention_factor_of_others_heard",),
    "rotary/frequencies_lengths_beside_none": ("rotary_frequencies.factor_without_scaling",),
    "rotary/frequencies_linear_4": (
        "rotary_frequencies.linear_multiplied",
        "rotary_frequencies.linear_ignored",
        "rotary_frequencies.attention_factor_of_others_derived",
    ),
    "rotary/frequencies_linear_of_a_long_text": ("rotary_frequencies.linear_with_stretched_base",),
    "rotary/frequencies_llama3_small": (
        "rotary_frequencies.llama3_ignored",
        "rotary_frequencies.llama3_all_divided",
        "rotary_frequencies.llama3_bands_exchanged",
        "rotary_frequencies.llama3_shares_exchanged",
        "rotary_frequencies.llama3_by_wavelength",
        "rotary_frequencies.llama3_in_one_step",
        "rotary_frequencies.llama3_two_pi_missing",
    ),
    "rotary/frequencies_longrope_equal": ("rotary_frequencies.longrope_long_too_early",),
    "rotary/frequencies_longrope_factor_1": ("rotary_frequencies.longrope_always_short",),
    "rotary/frequencies_longrope_given": (
        "rotary_frequencies.longrope_always_long",
        "rotary_frequencies.longrope_multiplied",
        "rotary_frequencies.given_attention_factor_ignored",
        "rotary_frequencies.factors_inverted_in_place",
    ),
    "rotary/frequencies_longrope_long": (
        "rotary_frequencies.longrope_factor_missing",
        "rotary_frequencies.longrope_factor_of_yarn",
        "rotary_frequencies.longrope_factor_without_root",
    ),
    "rotary/frequencies_proportional_half": (
        "rotary_frequencies.proportional_over_rotated_width",
        "rotary_frequencies.proportional_ignored",
    ),
    "rotary/frequencies_proportional_half_of_three": (
        "rotary_frequencies.proportional_of_features",
        "rotary_frequencies.proportional_last",
    ),
    "rotary/frequencies_proportional_quarter": ("rotary_frequencies.proportional_without_zeros",),
    "rotary/frequencies_proportional_three_quarters": ("rotary_frequencies.proportional_factor_ignored",),
    "rotary/frequencies_theta_1": (
        "rotary_frequencies.theta_ignored",
        "rotary_frequencies.of_every_feature",
    ),
    "rotary/frequencies_width_2": ("rotary_frequencies.counted_from_one",),
    "rotary/frequencies_width_4": (
        "rotary_frequencies.exponent_halved",
        "rotary_frequencies.last_is_one_over_theta",
        "rotary_frequencies.inverted",
    ),
    "rotary/frequencies_yarn_given": (
        "rotary_frequencies.given_attention_factor_multiplied",
        "rotary_frequencies.given_attention_factor_as_coefficient",
    ),
    "rotary/frequencies_yarn_magnitudes_equal": ("rotary_frequencies.magnitude_as_factor",),
    "rotary/frequencies_yarn_magnitudes_one": ("rotary_frequencies.magnitudes_ignored",),
    "rotary/frequencies_yarn_not_truncated_equal": (
        "rotary_frequencies.yarn_turns_fixed",
        "rotary_frequencies.yarn_two_pi_missing",
        "rotary_frequencies.yarn_ramp_over_features",
    ),
    "rotary/frequencies_yarn_not_truncated_lower_bound": ("rotary_frequencies.yarn_always_truncated",),
    "rotary/frequencies_yarn_second_magnitude": ("rotary_frequencies.single_magnitude_heard",),
    "rotary/frequencies_yarn_upper_bound_clamped": ("rotary_frequencies.yarn_clamped_to_last_pair",),
    "rotary/frequencies_yarn_width_4": (
        "rotary_frequencies.yarn_rounded_down",
        "rotary_frequencies.yarn_common_logarithm",
    ),
    "rotary/frequencies_yarn_width_6": ("rotary_frequencies.yarn_range_for_base_10000",),
    "rotary/frequencies_yarn_width_64": ("rotary_frequencies.yarn_turns_exchanged",),
    "rotary/frequencies_yarn_width_8": (
        "rotary_frequencies.yarn_not_truncated",
        "rotary_frequencies.yarn_blended_the_other_way",
        "rotary_frequencies.yarn_all_divided",
        "rotary_frequencies.yarn_factor_missing",
    ),
    "rotary/rejects_dynamic_width_2": ("rotary_frequencies.ranges_not_checked",),
    "rotary/rejects_misspelt_pairing": ("apply_rotary.unknown_pairing_as_half",),
    "rotary/rejects_misspelt_scaling": ("rotary_frequencies.unknown_scaling_as_none",),
    "rotary/rejects_no_features": ("rotary_frequencies.odd_feature_dropped",),
    "rotary/rejects_no_heads": ("apply_rotary.axes_filled_in",),
    "rotary/rejects_one_entry_for_all": ("apply_rotary.repeated_by_broadcasting",),
    "rotary/rejects_one_row_of_positions": ("rotary_tables.one_axis_too_few",),
    "rotary/rejects_single_factor": ("rotary_frequencies.lists_cut",),
    "rotary/rejects_three_pairs_of_five_features": ("apply_rotary.surplus_dropped",),
    "rotary/rejects_unlike_tables": ("apply_rotary.sines_fitted",),
    "rotary/rejects_yarn_without_original_length": ("rotary_frequencies.missing_parameters_filled_in",),
    "rotary/tables_attention_factor": (
        "rotary_tables.attention_factor_ignored",
        "rotary_tables.attention_factor_once_for_both",
        "rotary_tables.attention_factor_squared",
        "rotary_tables.attention_factor_in_phase",
    ),
    "rotary/tables_counted": (
        "rotary_tables.sine_negated",
        "rotary_tables.sine_unsigned",
        "rotary_tables.tokens_before_batch",
        "rotary_tables.exchanged",
        "rotary_tables.positions_advanced_in_place",
        "rotary_tables.positions_remembered",
    ),
    "rotary/tables_far": (
        "rotary_tables.positions_in_int16",
        "rotary_tables.positions_in_half_precision",
        "rotary_tables.phases_in_half_precision",
    ),
    "rotary/tables_gapped_positions": ("rotary_tables.gaps_ignored",),
    "rotary/tables_left_padding": ("rotary_tables.positions_of_first_entry",),
    "rotary/tables_model_32": ("rotary_tables.phases_reduced_roughly",),
    "rotary/tables_offset": ("rotary_tables.positions_from_first",),
    "rotary/tables_one_token": ("rotary_tables.of_every_feature",),
    "rotary/tables_restarting": (
        "rotary_tables.positions_ignored",
        "rotary_tables.positions_counted_on",
        "rotary_tables.positions_one_late",
    ),
    "rotary/tables_same_for_all": ("rotary_tables.positions_counted_through",),
}
"""Id of a case to the ids of the mistakes that it is there to catch."""
