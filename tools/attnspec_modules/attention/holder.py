"""A layer as a holder of operations: what the validator calls, and what was found in plain lines."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from attnspec.base.errors import Unsupported
from attnspec_modules.attention.checking import checked
from attnspec_modules.attention.found_in_words import findings
from attnspec_modules.attention.layer import Call, LayerRunner
from attnspec_modules.attention.layer_reading import BIASES, MATRICES, Reading, are_same

_TOKENS = ("query", "key", "value")


def holder_of(runner: LayerRunner, name: str, unclear: tuple[str, ...] = ()) -> SimpleNamespace:
    """Return an object with the operations that a layer is, its dtypes, conventions, checks, and `findings`."""
    reading = runner.reading
    by_itself = checked(lambda rotation: runner if rotation is None else runner.rotating(rotation))
    operations: dict[str, Any] = {"multi_head_attention": _multi_head_attention(runner)}
    if not reading.has_heads and reading.causality != "built in":
        operations["single_head_attention"] = _single_head_attention(runner)
    return SimpleNamespace(
        **operations,
        name=name,
        dtypes=reading.dtypes,
        conventions=dict(reading.conventions),
        without=reading.without,
        layer_checks=by_itself.checks,
        findings=(
            f"{name} is {' and '.join(operations)}, read so:",
            *findings(reading),
            *unclear,
            *by_itself.findings,
        ),
    )


def _multi_head_attention(runner: LayerRunner) -> Any:
    reading = runner.reading
    kept = reading.tensors

    def multi_head_attention(**given: Any) -> Any:
        return _attended(runner, given)

    # That of the output is added outside, where it is not the layer's.
    optional = [name for name in BIASES if name in kept or name == "b_output"]
    if reading.masks:
        optional.append("mask")
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        *(inspect.Parameter(name, keyword) for name in (*_TOKENS, *MATRICES, "num_heads")),
        *(inspect.Parameter(name, keyword, default=None) for name in optional),
    ]
    if reading.causality != "none":
        parameters.append(inspect.Parameter("is_causal", keyword, default=False))
    multi_head_attention.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return multi_head_attention


def _single_head_attention(runner: LayerRunner) -> Any:
    words = runner.reading.constructor.values()

    def single_head_attention(x: Any, w_query: Any, w_key: Any, w_value: Any, w_output: Any = None) -> Any:
        widths = {"its keys": w_query.shape[1], "its values": w_value.shape[1]}
        taken = {"its keys": {"inner", "head_width"} & {*words}, "its values": {"value_width"} & {*words}}
        for name, width in widths.items():
            like_keys = name == "its values" and width == widths["its keys"] and taken["its keys"]
            if width != x.shape[-1] and not taken[name] and not like_keys:
                raise Unsupported(f"{name} have the width of its tokens")
        if widths["its keys"] != widths["its values"] and not taken["its values"]:
            raise Unsupported("its values are as wide as its keys")
        tokens = x[np.newaxis]
        weights = {"w_query": w_query, "w_key": w_key, "w_value": w_value}
        if w_output is not None:
            weights["w_output"] = w_output
        elif "w_output" in runner.reading.tensors:
            weights["w_output"] = np.eye(w_value.shape[1], dtype=x.dtype)
        if "w_output" in runner.reading.tensors and w_output is not None and w_output.shape != (x.shape[-1],) * 2:
            raise Unsupported("its output has the width of its tokens")
        output, shares = runner.run(Call(tokens, tokens, tokens), weights, 1)
        return output[0] if shares is None else (output[0], shares[0, 0])

    return single_head_attention


def _attended(runner: LayerRunner, given: Mapping[str, Any]) -> Any:
    reading = runner.reading
    query, key, value = (given[name] for name in _TOKENS)
    heads, is_causal, mask = given["num_heads"], bool(given.get("is_causal")), given.get("mask")
    _refuse(reading, query, key, value, heads, is_causal)
    weights = {name: given[name] for name in (*MATRICES, *BIASES) if given.get(name) is not None}
    output, shares = runner.run(Call(query, key, value, mask, is_causal), weights, heads)
    return output if shares is None else (output, shares)


def _refuse(reading: Reading, query: Any, key: Any, value: Any, heads: int, is_causal: bool) -> None:
    """Raise Unsupported for what the call of the layer cannot say."""
    if heads > 1 and not reading.has_heads and not reading.runs_head_by_head:
        raise Unsupported("it has one head")
    turned = query.shape[-1] // heads * (1.0 if reading.rotation is None else reading.rotation.share)
    if reading.rotates and (turned % 2 or not turned):
        raise Unsupported("it rotates pairs of features, and heads of such a number have none")
    if reading.forward.is_self and not (are_same(query, key) and are_same(query, value)):
        raise Unsupported("it takes one sequence, which is query, key and value")
    has_value = "value" in reading.forward.tokens.values() or bool(reading.forward.listed)
    if not has_value and "context" not in reading.constructor.values() and not are_same(key, value):
        raise Unsupported("it takes keys and values as one")
    if reading.causality == "built in" and not is_causal:
        raise Unsupported("causality is built into it")
    if reading.causality == "none" and is_causal:
        raise Unsupported("it has no causality, and no mask that could say it")
