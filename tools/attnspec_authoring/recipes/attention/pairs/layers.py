"""The tables of multi-head and single-head attention, and of the operations that are steps of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.covering.table import Table
from attnspec_authoring.recipes.attention.attention import HIDDEN, made_for
from attnspec_authoring.recipes.attention.pairs.numbers import MOST_MASKED, drawing, dtypes_of, sample_of
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.covering.construction import Factors

_HERE = Path(__file__)
NUMBERS = ("full", "float16", "large")
LAYOUTS = ("plain", "fortran", "reversed")
SCALES: Mapping[str, tuple[float, float]] = {"explicit": (0.9, 0.875), "negative": (-0.6, -0.5)}
"""Level to the scale: of full width, and exact in every dtype."""
_LARGE = ("8", "9", "17", "32", "33", "64", "65", "80")
_BIASES = ("b_query", "b_key", "b_value", "b_output")

MULTI_HEAD: Factors = {
    "heads": ("2", "1", "3", "9"),
    "head_width": ("3", "1", "8", "32"),
    "queries": ("4", "1", "65"),
    "keys": ("5", "as_queries", "65"),
    "batch": ("1", "2"),
    **dict.fromkeys(_BIASES, ("off", "on")),
    "mask": ("none", "boolean", "float", "dead"),
    "causal": ("off", "on"),
    "scale": ("default", "explicit", "negative"),
    "numbers": NUMBERS,
    "token_layout": ("plain", "gapped", "reversed", "shared"),
    "weight_layout": LAYOUTS,
}

SINGLE_HEAD: Factors = {
    "tokens": ("4", "17", "65"),
    "width": ("3", "1", "33"),
    "head_width": ("3", "1", "64"),
    "value_width": ("3", "5", "80"),
    "w_output": ("off", "on"),
    "scale": ("default", "explicit", "negative"),
    "numbers": NUMBERS,
    "token_layout": LAYOUTS,
    "weight_layout": LAYOUTS,
}


def one_large_extent(levels: Mapping[str, str]) -> bool:
    """Return whether a row, or a part of one, has one large extent at most."""
    extents = ("heads", "head_width", "queries", "keys", "tokens", "width", "value_width", "length", "slices")
    return sum(levels.get(name) in _LARGE for name in extents) <= 1


def multi_head_allowed(levels: Mapping[str, str]) -> bool:
    """Return whether a row, or a part of one, may be."""
    one_key = levels.get("queries") == "1" and levels.get("keys") == "as_queries"
    return (
        one_large_extent(levels)
        and not one_key
        # Weights are square.
        and not (levels.get("head_width") == "32" and levels.get("heads", "1") != "1")
        and not (levels.get("queries") == "1" and levels.get("causal") == "on")
        and not (levels.get("queries") == "1" and levels.get("mask") == "dead")
        and not (levels.get("mask") == "dead" and levels.get("queries") == "65")
        and not (levels.get("mask") == "dead" and levels.get("keys") == "65")
        and (levels.get("token_layout") != "shared" or levels.get("keys", "as_queries") == "as_queries")
        # The causal query i sees the keys up to i, and all of them should be seen.
        and not (levels.get("causal") == "on" and levels.get("keys") == "65" and levels.get("queries") != "65")
    )


def drawn(name: str, shape: tuple[int, ...], numbers: str) -> NDArray[Any]:
    """Draw numbers of a class; matrices and biases are made smaller than tokens, so that scores stay moderate."""
    array = drawing(numbers)(name, shape)
    if numbers == "large" and "/w_query" in name:
        return np.round(array * 4.0, 4)
    return array / 2.0 if "/w_" in name or "/b_" in name else array


def multi_head_case(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make a case of multi-head attention."""
    numbers, name = levels["numbers"], f"{case_id}/{seed}"
    heads, queries, batch = int(levels["heads"]), int(levels["queries"]), int(levels["batch"])
    keys = queries if levels["keys"] == "as_queries" else int(levels["keys"])
    width = heads * int(levels["head_width"])
    shapes: dict[str, tuple[int, ...]] = {
        "query": (batch, queries, width),
        "key": (batch, keys, width),
        "value": (batch, keys, width),
        **dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (width, width)),
        **{bias: (width,) for bias in _BIASES if levels[bias] == "on"},
    }
    inputs = {key: drawn(f"{name}/{key}", shape, numbers) for key, shape in shapes.items()}
    layouts = {**dict.fromkeys(("query", "key", "value"), levels["token_layout"])}
    layouts |= {key: levels["weight_layout"] for key in shapes if key.startswith("w_")}
    if levels["token_layout"] == "shared":
        inputs |= dict.fromkeys(("key", "value"), inputs["query"])
    if levels["mask"] != "none":
        inputs["mask"] = layer_mask(
            levels["mask"], f"{name}/mask", (queries if queries * keys <= MOST_MASKED else 1, keys), numbers
        )
    attributes: dict[str, Any] = {"num_heads": heads}
    if levels["causal"] == "on":
        attributes["is_causal"] = True
    if levels["scale"] != "default":
        attributes["scale"] = SCALES[levels["scale"]][numbers in ("float16", "bfloat16")]
    clauses = {
        "projections": True,
        "biases": any(levels[bias] == "on" for bias in _BIASES),
        "scale.explicit": levels["scale"] != "default",
        "mask": levels["mask"] != "none",
        "causal": levels["causal"] == "on",
        "split": True,
        "combine": True,
        "output_projection": True,
    }
    return AuthoredCase(
        id=case_id,
        title=titled("Multi-head attention", levels, MULTI_HEAD),
        operation="multi_head_attention",
        clauses=existing("multi_head", clauses),
        source=made_for("pairs"),
        inputs=inputs,
        attributes=attributes,
        dtypes=dtypes_of(numbers),
        conventions=("fully_masked_row",) if levels["mask"] == "dead" else (),
        sample=sample_of("output", batch * queries * width, width),
        memory_order={key: layout for key, layout in layouts.items() if layout != "plain"},
    )


def layer_mask(level: str, name: str, shape: tuple[int, int], numbers: str) -> NDArray[Any]:
    """Return a mask (Sq, Sk) that leaves every row its first key; a dead one leaves the second row none."""
    hidden = drawing(numbers)(f"{name}/hidden", shape) < 0.0
    hidden[:, 0] = False
    if level == "dead":
        hidden[1] = True
    return np.where(hidden, HIDDEN, drawing(numbers)(name, shape)) if level == "float" else ~hidden


def single_head_case(case_id: str, levels: Mapping[str, str], seed: int) -> AuthoredCase:
    """Make a case of single-head attention."""
    numbers, name = levels["numbers"], f"{case_id}/{seed}"
    width, of_keys, of_values = (int(levels[key]) for key in ("width", "head_width", "value_width"))
    shapes: dict[str, tuple[int, ...]] = {
        "x": (int(levels["tokens"]), width),
        "w_query": (width, of_keys),
        "w_key": (width, of_keys),
        "w_value": (width, of_values),
        **({"w_output": (of_values, 2)} if levels["w_output"] == "on" else {}),
    }
    layouts = {key: levels["token_layout" if key == "x" else "weight_layout"] for key in shapes}
    attributes: dict[str, Any] = {}
    if levels["scale"] != "default":
        attributes["scale"] = SCALES[levels["scale"]][numbers in ("float16", "bfloat16")]
    clauses = {
        "projections": True,
        "scores": True,
        "scale.explicit" if attributes else "scale.default": True,
        "softmax.keys": True,
        "output_projection": levels["w_output"] == "on",
    }
    return AuthoredCase(
        id=case_id,
        title=titled("Single-head attention", levels, SINGLE_HEAD),
        operation="single_head_attention",
        clauses=existing("single_head", clauses),
        source=made_for("pairs"),
        inputs={key: drawn(f"{name}/{key}", shape, numbers) for key, shape in shapes.items()},
        attributes=attributes,
        dtypes=dtypes_of(numbers),
        memory_order={key: layout for key, layout in layouts.items() if layout != "plain"},
    )


def titled(what: str, levels: Mapping[str, str], factors: Factors) -> str:
    """Say what a row has that is not as usual."""
    said = [f"{name} {level}".replace("_", " ") for name, level in levels.items() if level != factors[name][0]]
    return f"{what}: {', '.join(said) or 'as usual'}"


def existing(owner: str, clauses: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the ids of the clauses that apply."""
    return tuple(f"{owner}.{name}" for name, applies in clauses.items() if applies)


MULTI_HEAD_TABLE = Table(
    "pairs/multi_head", _HERE.with_name("multi_head_rows.txt"), MULTI_HEAD, multi_head_allowed, multi_head_case
)
SINGLE_HEAD_TABLE = Table(
    "pairs/single_head", _HERE.with_name("single_head_rows.txt"), SINGLE_HEAD, one_large_extent, single_head_case
)
TABLES = (MULTI_HEAD_TABLE, SINGLE_HEAD_TABLE)


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
    """Return whether a row, or a part of one, may be: an axis must be there."""
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
    querying = draw(f"{name}/decoder_state", (width,))
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
            "decoder_state": np.round(querying * 4.0, 4) if numbers == "large" else querying,
        },
        attributes=attributes,
        outputs=("context",),
        dtypes=dtypes_of(numbers),
        memory_order={key: layout for key, layout in layouts.items() if layout != "plain"},
    )


def heads_allowed(levels: Mapping[str, str]) -> bool:
    """Return whether a row, or a part of one, may be; as many entries or tokens as heads are few."""
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


STEP_TABLES = (
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
