"""The one argument with which some cases are asked once more, so that each argument is changed by one case.

The attention factor and its two coefficients have none: they do not reach the frequencies, which are the first output.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.cases import ChangedArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

CHANGED: Mapping[str, ChangedArgument] = {
    "rotary/frequencies_width_4": ChangedArgument("width", 6),
    "rotary/frequencies_theta_million": ChangedArgument("theta", 500.0),
    "rotary/frequencies_linear_4": ChangedArgument("scaling", "none"),
    "rotary/frequencies_linear_2_5": ChangedArgument("factor", 5.0),
    "rotary/frequencies_dynamic_long": ChangedArgument("original_length", 1024),
    "rotary/frequencies_dynamic_one_more": ChangedArgument("sequence_length", 40),
    "rotary/frequencies_llama3_small": ChangedArgument("low_frequency_factor", 2.0),
    "rotary/frequencies_llama3_wide_band": ChangedArgument("high_frequency_factor", 16.0),
    "rotary/frequencies_longrope_no_length": ChangedArgument("short_factors", [2.0, 3.0, 4.0]),
    "rotary/frequencies_longrope_one_more": ChangedArgument("long_factors", [16.0, 17.0, 18.0, 19.0]),
    "rotary/frequencies_proportional_half": ChangedArgument("proportion", 1.0),
    "rotary/frequencies_yarn_turns": ChangedArgument("beta_fast", 64.0),
    "rotary/frequencies_yarn_turns_wide": ChangedArgument("beta_slow", 8.0),
    "rotary/frequencies_yarn_not_truncated_small": ChangedArgument("truncate", True),
    "rotary/tables_counted": ChangedArgument("position_ids", reversed=True),
    "rotary/tables_decode": ChangedArgument("inverse_frequencies", reversed=True),
    "rotary/tables_attention_factor": ChangedArgument("attention_factor", 2.0),
    "rotary/apply_whole_half": ChangedArgument("x", reversed=True),
    "rotary/apply_whole_interleaved": ChangedArgument("cos", reversed=True),
    "rotary/apply_three_pairs_half": ChangedArgument("sin", reversed=True),
    "rotary/apply_three_pairs_interleaved": ChangedArgument("pairing", "half"),
}
"""Id of a case to its changed argument."""


def with_changed_arguments(cases: Iterable[AuthoredCase]) -> tuple[AuthoredCase, ...]:
    """Say of each case which argument is changed in the call after it."""
    return tuple(replace(case, changed_argument=CHANGED.get(case.id)) for case in cases)
