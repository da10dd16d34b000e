"""The tables of the operations that are steps of others: softmax, the context vector, heads cut and joined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.covering.table import Table
from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.attention.pairs.extents import sample_of
from attnspec_authoring.recipes.attention.pairs.layers import (
    LAYOUTS,
    NUMBERS,
    SCALES,
    existing,
    one_large_extent,
    titled,
)
from attnspec_authoring.recipes.attention.pairs.numbers import drawing, dtypes_of
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.covering.construction import Factors

_HERE = Path(__file__)

SOFTMAX: Factors = {
    "rank": ("2", "1", "3"),
    "axis": ("default", "first", "middle", "minus_two", "null"),
    "length": ("5", "64", "300"),
    "numbers": NUMBERS,
    "layout": LAYOUTS,
}
CONTEXT_VECTOR: Factors = {
    "tokens": ("5", "64", "129", "300"),
    "width": ("3", "2", "80"),
    "scale": ("default", "explicit", "negative"),
    "numbers": NUMBERS,
    "state_layout": LAYOUTS,
    "asking_layout": ("plain", "reversed"),
}
HEADS: Factors = {
    "operation": ("split_heads", "combine_heads"),
    "batch": ("1", "2", "as_heads"),
    "slices": ("2", "3", "9", "65"),
    "head_width": ("3", "1", "80"),
    "tokens": ("4", "1", "65", "as_heads"),
    "layout": ("plain", "fortran", "gapped", "broadcast"),
}


def softmax_allowed(levels: Mapping[str, str]) -> bool:
    """Tell whether a row, or a part of one, may be: an axis must be there."""
    rank = int(levels.get("rank", "3"))
    least = {"first": 2, "middle": 3, "minus_two": 2, "null": 2}
    return rank >= least.get(levels.get("axis", "default"), 1)


def softmax_case(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make a case of softmax; the long axis is the one along which the shares are taken."""
    numbers, rank = levels["numbers"], int(levels["rank"])
    axis = {"default": rank - 1, "first": 0, "middle": 1, "minus_two": rank - 2, "null": rank - 1}[levels["axis"]]
    shape = [2, 3, 2][:rank]
    shape[axis] = int(levels["length"])
    x = drawing(numbers)(f"{case_id}/{seed}", tuple(shape)) * (8.0 if numbers == "large" else 1.0)
    stated: Mapping[str, Any] = {"first": 0, "middle": 1, "minus_two": -2, "null": None}
    attributes = {} if levels["axis"] == "default" else {"axis": stated[levels["axis"]]}
    kind = {"default": "axis.default", "null": "axis.whole"}.get(levels["axis"], "axis.explicit")
    return AuthoredCase(
        id=case_id,
        title=titled("Softmax", levels, SOFTMAX),
        operation="softmax",
        clauses=existing("softmax", {"definition": True, kind: True}),
        source=made_for("pairs"),
        inputs={"x": np.round(x, 4) if numbers == "large" else x},
        attributes=attributes,
        dtypes=dtypes_of(numbers),
        memory_order={} if levels["layout"] == "plain" else {"x": levels["layout"]},
        sample=sample_of("output", x.size, x.shape[-1] if x.shape[-1] < 100 else 1),
    )


def context_vector_case(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make a case of the context vector."""
    numbers, width = levels["numbers"], int(levels["width"])
    draw, name = drawing(numbers), f"{case_id}/{seed}"
    asking = draw(f"{name}/decoder_state", (width,))
    layouts = {"encoder_states": levels["state_layout"], "decoder_state": levels["asking_layout"]}
    attributes: dict[str, Any] = {}
    if levels["scale"] != "default":
        attributes["scale"] = SCALES[levels["scale"]][numbers in ("float16", "bfloat16")]
    return AuthoredCase(
        id=case_id,
        title=titled("Context vector", levels, CONTEXT_VECTOR),
        operation="context_vector",
        clauses=existing(
            "context_vector",
            {
                "raw_scores": True,
                "scale.explicit" if attributes else "scale.default": True,
                "softmax": True,
                "context": True,
            },
        ),
        source=made_for("pairs"),
        inputs={
            "encoder_states": draw(f"{name}/encoder_states", (int(levels["tokens"]), width)),
            "decoder_state": np.round(asking * 4.0, 4) if numbers == "large" else asking,
        },
        attributes=attributes,
        outputs=("context",),
        dtypes=dtypes_of(numbers),
        memory_order={key: layout for key, layout in layouts.items() if layout != "plain"},
    )


def heads_allowed(levels: Mapping[str, str]) -> bool:
    """Tell whether a row, or a part of one, may be; as many entries or tokens as heads are few."""
    few = levels.get("slices", "2") in ("2", "3")
    wide = levels.get("head_width") == "80" and "as_heads" in (levels.get("batch"), levels.get("tokens"))
    return (
        one_large_extent(levels)
        and (levels.get("layout") != "broadcast" or levels.get("batch", "2") != "1")
        and ("as_heads" not in (levels.get("batch"), levels.get("tokens")) or few)
        and not wide
    )


def heads_case(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make a case of heads that are cut or joined: every element is its own number, small enough for every dtype."""
    heads, width = int(levels["slices"]), int(levels["head_width"])
    batch, tokens = (heads if levels[key] == "as_heads" else int(levels[key]) for key in ("batch", "tokens"))
    splits = levels["operation"] == "split_heads"
    shape = (batch, tokens, heads * width) if splits else (batch, heads, tokens, width)
    x = drawing("bfloat16")(f"{case_id}/{seed}", shape)
    if levels["layout"] == "broadcast":
        x = np.broadcast_to(x[:1], shape)
    return AuthoredCase(
        id=case_id,
        title=titled("Heads", levels, HEADS),
        operation=levels["operation"],
        clauses=existing(levels["operation"], {"order": True, "shape": True}),
        source=made_for("pairs"),
        inputs={"x": x},
        attributes={"num_heads": heads} if splits else {},
        dtypes=EVERY_DTYPE,
        memory_order={} if levels["layout"] == "plain" else {"x": levels["layout"]},
        sample=sample_of("output", x.size, width),
    )


TABLES = (
    Table("pairs/softmax", _HERE.with_name("softmax_rows.txt"), SOFTMAX, softmax_allowed, softmax_case),
    Table(
        "pairs/context_vector",
        _HERE.with_name("context_vector_rows.txt"),
        CONTEXT_VECTOR,
        lambda levels: not (levels.get("tokens") in ("64", "129", "300") and levels.get("width") == "80"),
        context_vector_case,
    ),
    Table("pairs/heads", _HERE.with_name("heads_rows.txt"), HEADS, heads_allowed, heads_case),
)


def far_masks() -> tuple[AuthoredCase, ...]:
    """Hold causal masks whose positions lie beyond a byte, signed or not."""
    far = (
        ("beyond_a_signed_byte", {"query_length": 3, "key_length": 140, "offset": 130}),
        ("beyond_a_byte", {"query_length": 3, "key_length": 270, "offset": 258}),
        ("beyond_a_byte_additive", {"query_length": 3, "key_length": 260, "offset": 255, "additive": True}),
        ("many_queries", {"query_length": 270, "key_length": 3, "offset": -260}),
        ("square", {"query_length": 33}),
        ("no_keys", {"query_length": 3, "key_length": 0}),
        ("no_queries", {"query_length": 0, "key_length": 3}),
    )
    return tuple(
        AuthoredCase(
            id=f"pairs/causal_mask_{name}",
            title=f"Causal mask: {name.replace('_', ' ')}",
            operation="causal_mask",
            clauses=existing(
                "causal_mask",
                {"definition": True, "shape": True, "additive" if attributes.get("additive") else "boolean": True},
            ),
            source=made_for("pairs"),
            attributes=attributes,
            dtypes=(),
        )
        for name, attributes in far
    )
