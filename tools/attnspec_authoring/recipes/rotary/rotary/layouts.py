"""Memory layouts of every input, and the one argument with which some cases are called once more.

Most are changed by two: upwards and downwards, so that who keeps the longest text or the largest setting is found out.
The attention factor and its two coefficients have none: they do not change the frequencies, which are the first output.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.rotations import both, rotation
from attnspec_authoring.recipes.rotary.rotary.tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

LAYOUTS = {
    "fortran": "with the first axis first in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "prefix": "at the beginning of longer arrays",
}
SHAPE = (2, 3, 2, 6)
POSITIONS = [[3, 0, 7], [1, 12, 5]]


def of_rotations() -> tuple[AuthoredCase, ...]:
    """Hold features, cosines and sines in every layout, parts that stand for all, and one array as both tables."""
    table = (2, 2, 2)
    one_table = grid("rotary/one_table", table) / 2.0
    one_entry = np.broadcast_to(grid("rotary/one_entry", (1, 2, 2)) / 2.0, table).copy()
    one_head = np.broadcast_to(grid("rotary/one_head", (2, 1, 2, 6)), SHAPE).copy()
    return (
        *(
            case
            for layout, how in LAYOUTS.items()
            for name, inputs in (("features", ("x",)), ("tables", ("cos", "sin")))
            for case in both(f"{layout}_{name}", f"{name} that lie {how}")(
                SHAPE, 4, memory_order=dict.fromkeys(inputs, layout)
            )
        ),
        *(
            rotation(f"{layout}_{name}", f"{name} that lie {how}, beside ordinary ones")(
                SHAPE, 4, pairing="half", memory_order={table_name: layout}
            )
            for layout, how in LAYOUTS.items()
            for name, table_name in (("cosines", "cos"), ("sines", "sin"))
        ),
        *both("one_head", "one head in memory stands for all")(
            SHAPE, 4, x=one_head, memory_order={"x": "heads_broadcast"}
        ),
        *both("one_entry_of_tables", "one batch entry of the tables stands for all")(
            SHAPE,
            4,
            cos=one_entry,
            sin=one_entry[:, ::-1].copy(),
            memory_order={"cos": "broadcast", "sin": "broadcast"},
        ),
        *both("fused_tables", "cosines and sines that are sections of one array")(
            SHAPE, 4, memory_order={"cos": "fused", "sin": "fused"}
        ),
        *both("one_array_as_both_tables", "one array is given as cosines and sines")(
            SHAPE, 4, cos=one_table, sin=one_table, memory_order={"cos": "shared", "sin": "shared"}
        ),
    )


def of_tables() -> tuple[AuthoredCase, ...]:
    """Hold positions and frequencies in every layout, and positions that are one row."""
    one_row = tables("one_row_of_positions", "one row of positions in memory stands for all")([[0, 4, 9], [0, 4, 9]])
    return (
        *(
            replace(
                tables(f"{layout}_positions", f"positions that lie {how}")(POSITIONS, clauses=("positions", "batch")),
                memory_order={"position_ids": layout},
            )
            for layout, how in LAYOUTS.items()
        ),
        *(
            replace(
                tables(f"{layout}_frequencies", f"frequencies that lie {how}")(POSITIONS),
                memory_order={"inverse_frequencies": layout},
            )
            for layout, how in LAYOUTS.items()
            if layout not in ("fortran", "prefix")
        ),
        replace(one_row, memory_order={"position_ids": "broadcast"}),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of layouts."""
    return (*of_rotations(), *of_tables())


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
    "rotary/frequencies_width_64": ChangedArgument("width", 4),
    "rotary/frequencies_theta_500000": ChangedArgument("theta", 1000000.0),
    "rotary/frequencies_linear_of_a_long_text": ChangedArgument("factor", 1.0),
    "rotary/frequencies_linear_of_a_longer_text": ChangedArgument("scaling", "none"),
    "rotary/frequencies_dynamic_width_80": ChangedArgument("sequence_length", 8192),
    "rotary/frequencies_dynamic_width_4": ChangedArgument("sequence_length", None),
    "rotary/frequencies_dynamic_factor_1": ChangedArgument("original_length", 200),
    "rotary/frequencies_dynamic_short": ChangedArgument("sequence_length", 4096),
    "rotary/frequencies_llama3_attention_factor": ChangedArgument("low_frequency_factor", 0.5),
    "rotary/frequencies_llama3_factor_8": ChangedArgument("high_frequency_factor", 2.0),
    "rotary/frequencies_llama3_factor_32": ChangedArgument("original_length", 4096),
    "rotary/frequencies_longrope_long": ChangedArgument("sequence_length", 100),
    "rotary/frequencies_longrope_given_long": ChangedArgument("sequence_length", 8),
    "rotary/frequencies_longrope_short": ChangedArgument("sequence_length", 131072),
    "rotary/frequencies_longrope_equal": ChangedArgument("short_factors", [3.0, 2.0, 1.0, 4.0]),
    "rotary/frequencies_longrope_factor_1": ChangedArgument("long_factors", [1.0, 1.5, 1.25]),
    "rotary/frequencies_proportional_three_quarters": ChangedArgument("proportion", 0.25),
    "rotary/frequencies_yarn_not_truncated_equal": ChangedArgument("beta_fast", 16.0),
    "rotary/frequencies_yarn_upper_bound_clamped": ChangedArgument("beta_slow", 1.0),
    "rotary/frequencies_yarn_truncated_stated": ChangedArgument("truncate", False),
    "rotary/frequencies_yarn_width_80": ChangedArgument("original_length", 1000),
    "rotary/frequencies_yarn_width_8": ChangedArgument("factor", 2.0),
    "rotary/tables_one_pair": ChangedArgument("position_ids", reversed=True),
    "rotary/tables_far_slow_pairs": ChangedArgument("inverse_frequencies", reversed=True),
    "rotary/tables_attention_factor_below_one": ChangedArgument("attention_factor", 1.0),
    "rotary/tables_attention_factor": ChangedArgument("attention_factor", 2.0),
    "rotary/apply_whole_half": ChangedArgument("x", reversed=True),
    "rotary/apply_whole_interleaved": ChangedArgument("cos", reversed=True),
    "rotary/apply_three_pairs_half": ChangedArgument("sin", reversed=True),
    "rotary/apply_three_pairs_interleaved": ChangedArgument("pairing", "half"),
    "rotary/apply_many_heads_half": ChangedArgument("pairing", "interleaved"),
    "rotary/apply_many_heads_interleaved": ChangedArgument("x", reversed=True),
    "rotary/apply_partial_half": ChangedArgument("cos", reversed=True),
    "rotary/apply_partial_interleaved": ChangedArgument("sin", reversed=True),
}
"""Id of a case to its changed argument."""


def with_changed_arguments(cases: Iterable[AuthoredCase]) -> tuple[AuthoredCase, ...]:
    """Say of each case which argument is changed in the call after it."""
    return tuple(replace(case, changed_argument=CHANGED.get(case.id)) for case in cases)
