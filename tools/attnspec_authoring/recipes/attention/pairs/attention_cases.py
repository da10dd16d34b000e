"""From a row of the table of scaled dot-product attention to its case."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.covering.table import Table
from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_RIGHT,
    HIDDEN,
    TOP_LEFT,
    Sizes,
    attention,
    every_row_keeps_one,
)
from attnspec_authoring.recipes.attention.pairs.attention_table import FACTORS, allowed
from attnspec_authoring.recipes.attention.pairs.extents import mask_shape, sample_of, sizes_of
from attnspec_authoring.recipes.attention.pairs.numbers import attention_numbers, drawing, dtypes_of, is_exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

LOW = -9984.0
"""What a mask adds to each key of one row: many take such a number for exclusion, but equal numbers change nothing."""

_SCALES: Mapping[str, tuple[float, float]] = {
    "explicit": (0.3, 0.3125),
    "above_one": (1.7, 1.5),
    "zero": (0.0, 0.0),
    "negative": (-0.6, -0.5),
}
"""Level to the scale: of full width, and exact in every dtype."""
_SOFTCAP = (1.3, 1.5)


def case_of(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make the case of a row."""
    sizes = sizes_of(levels)
    name = f"{case_id}/{seed}"
    numbers = levels["numbers"]
    shapes = sizes.shapes()
    joined = {tensor: (*shapes[tensor][:2], sizes.columns, shapes[tensor][3]) for tensor in ("key", "value")}
    tensors: dict[str, Any] = attention_numbers(numbers, name, {"query": shapes["query"], **joined}, past=sizes.past)
    if levels["value_layout"] == "the_key":
        tensors["value"] = tensors["key"]
    presentation = presentation_of(levels)
    for tensor, layout in presentation.items():
        if layout == "broadcast":
            tensors[tensor] = np.broadcast_to(tensors[tensor][:1], tensors[tensor].shape)
    arguments: dict[str, Any] = {**tensors, **optional_inputs(levels, sizes, name), **attributes_of(levels, sizes)}
    inputs: dict[str, NDArray[Any]] = {
        argument: given for argument, given in arguments.items() if isinstance(given, np.ndarray)
    }
    if depends_on_alignment(inputs, arguments):
        arguments["causal_alignment"] = BOTTOM_RIGHT if levels["placement"] == "bottom_right" else TOP_LEFT
    values = tensors["value"].shape[3]
    outputs = ("output",) if levels["outputs"] == "output" else ("output", levels["outputs"])
    return attention(case_id, title_of(levels, sizes))(
        sizes,
        outputs=outputs,
        dtypes=dtypes_of(numbers),
        presentation=presentation,
        sample=sample_of("output", sizes.batch * sizes.heads * sizes.queries * values, values),
        exact=is_exact(numbers),
        **arguments,
    )


def presentation_of(levels: Mapping[str, str]) -> dict[str, str]:
    """Return the memory layout of every input of a row that does not lie there as usual."""
    layouts = {name: levels[f"{name}_layout"] for name in ("query", "key", "value", "mask")}
    if levels["cache"].startswith("past"):
        layouts |= dict.fromkeys(("past_key", "past_value"), levels["past_layout"])
    lengths = {"key_lengths": ("key_lengths",), "empty_entry": ("key_lengths",), "query_lengths": ("query_lengths",)}
    vectors = [
        *lengths.get(levels["cache"], ("key_lengths", "query_lengths") if levels["cache"] == "both_lengths" else ()),
        *(("sinks",) if levels["sinks"] == "on" else ()),
        *(("alibi_slopes",) if levels["alibi"] == "on" else ()),
    ]
    layouts |= dict.fromkeys(vectors, levels["vector_layout"])
    if layouts["value"] == "the_key":
        layouts |= {"key": "shared", "value": "shared"}
    return {name: layout for name, layout in layouts.items() if layout != "plain"}


def optional_inputs(levels: Mapping[str, str], sizes: Sizes, name: str) -> dict[str, NDArray[Any]]:
    """Return mask, lengths, sinks and slopes of a row."""
    made: dict[str, NDArray[Any]] = {}
    numbers = levels["numbers"]
    draw = drawing(numbers)
    if levels["mask"] != "none":
        made["mask"] = mask_of(levels, sizes, name)
    cache = levels["cache"]
    entry: NDArray[np.int64] = np.arange(sizes.batch, dtype=np.int64)
    if cache in ("key_lengths", "both_lengths", "empty_entry"):
        # A quarter of the keys less for each entry, so that whole tiles are beyond.
        quarter = max(1, sizes.keys // 4)
        lengths = np.maximum(sizes.keys - 1 - quarter * (entry + (cache != "empty_entry")), 1)
        made["key_lengths"] = np.insert(lengths[:-1], sizes.batch // 2, 0) if cache == "empty_entry" else lengths
    if cache in ("query_lengths", "both_lengths"):
        made["query_lengths"] = np.maximum(sizes.queries - 1 - entry, 1)
    if levels["sinks"] == "on":
        # About as much as all keys together, so that a sink takes a share that shows.
        level = np.log(sizes.columns)
        drawn = draw(f"{name}/sinks", (sizes.heads,))
        made["sinks"] = (
            np.round(drawn * 4.0) / 4.0 + np.round(level) if is_exact(numbers) else np.round(drawn + level, 4)
        )
    if levels["alibi"] == "on":
        # So that the farthest keys lose some units.
        halvings: NDArray[np.int64] = np.arange(sizes.heads, dtype=np.int64) % 3
        fall: NDArray[np.float64] = np.exp2(round(math.log2(6.0 / sizes.columns)) - halvings.astype(np.float64))
        made["alibi_slopes"] = fall if is_exact(numbers) else np.round(fall * 1.13, 5)
    return made


def mask_of(levels: Mapping[str, str], sizes: Sizes, name: str) -> NDArray[Any]:
    """Return the mask of a row."""
    kind, _, special = levels["mask"].partition("_")
    numbers = levels["numbers"]
    shape = mask_shape(levels, sizes)
    rows = shape[-2]
    draw = drawing(numbers)
    hidden = (draw(f"{name}/hidden", shape) < -0.4) & ~every_row_keeps_one(shape)
    if kind == "boolean":
        mask: NDArray[Any] = ~hidden
    else:
        mask = np.where(hidden & (draw(f"{name}/mask again", shape) < 0.0), HIDDEN, draw(f"{name}/mask", shape))
    if special == "dead":
        mask[..., rows // 4, :] = False if kind == "boolean" else HIDDEN
    elif special == "low":
        mask[..., rows // 4, :] = LOW
    return mask


def attributes_of(levels: Mapping[str, str], sizes: Sizes) -> dict[str, Any]:
    """Return the attributes of a row, but for the alignment."""
    exact = is_exact(levels["numbers"])
    third = sizes.columns // 3
    windows: Mapping[str, list[int | None]] = {
        "left": [1, None],
        "right": [None, 1],
        "both": [third + 1, 1],
        "open": [None, None],
        "wide_left": [sizes.columns + 3, 1],
        "wide_right": [1, sizes.columns + 3],
    }
    made: dict[str, Any] = {}
    if levels["causal"] == "on":
        made["is_causal"] = True
    if levels["window"] != "none":
        made["window"] = windows[levels["window"]]
    if levels["scale"] != "default":
        made["scale"] = _SCALES[levels["scale"]][exact]
        if levels["scale"] == "explicit" and sizes.width > 8:
            made["scale"] = 0.0625 if exact else 0.07
    if levels["softcap"] != "off":
        made["softcap"] = 0.0 if levels["softcap"] == "zero" else _SOFTCAP[exact]
    return made


def title_of(levels: Mapping[str, str], sizes: Sizes) -> str:
    """Say what a row has: its sizes, then what is not as usual."""
    usual = {
        **{name: options[0] for name, options in FACTORS.items()},
        **dict.fromkeys(("features", "keys", "queries", "width", "value_width", "heads", "batch", "numbers"), None),
    }
    said = [
        f"{name} {level}".replace("_", " ")
        for name, level in levels.items()
        if usual[name] is not None and level != usual[name]
    ]
    values = sizes.width if sizes.value_width is None else sizes.value_width
    extents = (
        f"{sizes.batch} x {sizes.heads} heads over {sizes.shared}, {sizes.queries} queries, {sizes.keys} keys, "
        f"widths {sizes.width} and {values}"
    )
    return ": ".join([extents, ", ".join([*said, f"numbers {levels['numbers']}"])])


TABLE = Table("pairs/attention", Path(__file__).with_name("attention_rows.txt"), FACTORS, allowed, case_of)
