"""The tables of the operations with projections: multi-head and single-head attention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.covering.table import Table
from attnspec_authoring.recipes.attention.attention import HIDDEN, made_for
from attnspec_authoring.recipes.attention.pairs.extents import MOST_MASKED, sample_of
from attnspec_authoring.recipes.attention.pairs.numbers import drawing, dtypes_of
from attnspec_authoring.recipes.authoring import AuthoredCase

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
    """Tell whether a row, or a part of one, has one large extent at most."""
    extents = ("heads", "head_width", "queries", "keys", "tokens", "width", "value_width", "length", "slices")
    return sum(levels.get(name) in _LARGE for name in extents) <= 1


def multi_head_allowed(levels: Mapping[str, str]) -> bool:
    """Tell whether a row, or a part of one, may be."""
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
