"""Memory layouts of every input of the rotary operations, and tables that are one array."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.rotations import both, rotation
from attnspec_authoring.recipes.rotary.rotary.tables import tables

if TYPE_CHECKING:
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
                SHAPE, 4, presentation=dict.fromkeys(inputs, layout)
            )
        ),
        *(
            rotation(f"{layout}_{name}", f"{name} that lie {how}, beside ordinary ones")(
                SHAPE, 4, pairing="half", presentation={table_name: layout}
            )
            for layout, how in LAYOUTS.items()
            for name, table_name in (("cosines", "cos"), ("sines", "sin"))
        ),
        *both("one_head", "one head in memory stands for all")(
            SHAPE, 4, x=one_head, presentation={"x": "heads_broadcast"}
        ),
        *both("one_entry_of_tables", "one batch entry of the tables stands for all")(
            SHAPE,
            4,
            cos=one_entry,
            sin=one_entry[:, ::-1].copy(),
            presentation={"cos": "broadcast", "sin": "broadcast"},
        ),
        *both("fused_tables", "cosines and sines that are sections of one array")(
            SHAPE, 4, presentation={"cos": "fused", "sin": "fused"}
        ),
        *both("one_array_as_both_tables", "one array is given as cosines and sines")(
            SHAPE, 4, cos=one_table, sin=one_table, presentation={"cos": "shared", "sin": "shared"}
        ),
    )


def of_tables() -> tuple[AuthoredCase, ...]:
    """Hold positions and frequencies in every layout, and positions that are one row."""
    one_row = tables("one_row_of_positions", "one row of positions in memory stands for all")([[0, 4, 9], [0, 4, 9]])
    return (
        *(
            replace(
                tables(f"{layout}_positions", f"positions that lie {how}")(POSITIONS, clauses=("positions", "batch")),
                presentation={"position_ids": layout},
            )
            for layout, how in LAYOUTS.items()
        ),
        *(
            replace(
                tables(f"{layout}_frequencies", f"frequencies that lie {how}")(POSITIONS),
                presentation={"inverse_frequencies": layout},
            )
            for layout, how in LAYOUTS.items()
            if layout not in ("fortran", "prefix")
        ),
        replace(one_row, presentation={"position_ids": "broadcast"}),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of layouts."""
    return (*of_rotations(), *of_tables())
