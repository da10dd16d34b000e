"""Functions of few arguments: each narrow signature gets golden cases that show every argument that it has.

A function declines what it has no argument for, and much software has very few: a layer that is always causal, a kernel
that decodes one token, an encoder that knows nothing but lengths. A case counts for such a function where it states
nothing beyond its arguments, in the shapes that it takes. It shows an argument where a right answer would be wrong
without it, as the stored tolerances say.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES

AT_LEAST = 3
"""Cases that show an argument: one of them may be blind to a mistake for its numbers, and two for its sizes."""

FORWARD, MULTI_HEAD = "scaled_dot_product_attention", "multi_head_attention"
BIASES = "b_query b_value b_output"


def length(case, name):
    return case.shapes[name][-2]


def equal_lengths(case):
    return length(case, "query") == length(case, "key")


def one_shape(case):
    return case.shapes["query"] == case.shapes["key"] == case.shapes["value"]


def decodes(case):
    return length(case, "query") == 1 < length(case, "key")


def own_tokens(case):
    return all(np.array_equal(case.inputs["query"], case.inputs[name]) for name in ("key", "value"))


def causal(case):
    return bool(case.attributes.get("is_causal"))


def biased(case):
    return {*BIASES.split(), "b_key"} <= case.inputs.keys()


def int8(case):
    return all(str(case.inputs[name].dtype) == "int8" for name in ("key", "value"))


def one_scale(case):
    return all(case.inputs[name].size == 1 for name in ("key_scale", "value_scale"))


def continues(case):
    return "past_key" in case.inputs


def one_token(case):
    return length(case, "query") == length(case, "key") == 1


def published_slopes(case):
    """The slopes of the paper on ALiBi, which many functions work out from the number of heads."""
    heads = case.shapes["query"][1]
    power = 2 ** int(np.log2(max(heads, 1)))
    own = [2.0 ** (-8 * (head + 1) / power) for head in range(power)]
    between = [2.0 ** (-4 * (2 * head + 1) / power) for head in range(heads - power)]
    return "alibi_slopes" in case.inputs and np.array_equal(case.inputs["alibi_slopes"], own + between)


def left_window(case):
    """A window to the left, in the way of kernels: nothing to the right."""
    window = case.attributes.get("window")
    return window is None or window[1] == 0


def forward_window(case):
    """A window to the left that leaves everything to the right."""
    window = case.attributes.get("window")
    return window is None or window[1] is None


def even_window(case):
    window = case.attributes.get("window")
    return window is None or window[0] == window[1]


def masked(kind: str, axes: tuple[int, ...]) -> Callable[..., bool]:
    """Return whether a mask, if any, is of a kind and varies along some of the axes (B, H, Sq, Sk) alone."""

    def is_taken(case):
        mask = case.inputs.get("mask")
        if mask is None:
            return True
        if (mask.dtype == bool) != (kind == "boolean") or (kind == "finite" and not np.isfinite(mask).all()):
            return False
        shape = (*(1,) * (4 - mask.ndim), *mask.shape)
        return all(extent == 1 for axis, extent in enumerate(shape) if axis not in axes)

    return is_taken


KEYS, TABLE, POSITIONS = (0, 3), (2, 3), (1, 2, 3)
"""Axes of a mask of padded keys, of one for queries and keys, and of one for each head."""


class Signature(NamedTuple):
    """What a function takes: optional arguments, shapes and values; which arguments can show, and its own alignment."""

    operation: str
    takes: str
    conditions: tuple[Callable[..., bool], ...]
    shown: str | None = None
    alignment: str = "top_left"


def of(takes: str, *conditions, shown: str | None = None, alignment: str = "top_left") -> Signature:
    return Signature(FORWARD, takes, conditions, shown, alignment)


def layer(takes: str, *conditions) -> Signature:
    """A layer of self-attention; the bias of keys shows in none, for softmax does not see it."""
    return Signature(MULTI_HEAD, takes, (own_tokens, *conditions), takes.replace(" b_key", ""))


LAST = "bottom_right"
SIGNATURES = {
    "causal": of("is_causal", one_shape, causal),
    "causal from the last key": of("is_causal", causal, alignment=LAST),
    "causal, scale": of("is_causal scale", one_shape, causal),
    "causal, sinks": of("is_causal sinks", equal_lengths, causal),
    "causal, sinks, window, scale": of("is_causal sinks window scale", equal_lengths, causal, left_window),
    "causal, window": of("is_causal window", one_shape, causal, left_window),
    "causal, softcap": of("is_causal softcap", one_shape, causal),
    "causal, slopes": of("is_causal alibi_slopes", one_shape, causal),
    "causal, padded keys": of("is_causal mask", one_shape, causal, masked("boolean", KEYS)),
    "causal, lengths of keys": of("is_causal key_lengths", one_shape, causal),
    "causal from the last key, both lengths": of(
        "is_causal key_lengths query_lengths", equal_lengths, causal, alignment=LAST
    ),
    "causal, past": of("is_causal past_key past_value", causal, equal_lengths, continues),
    "causal, past, window": of(
        "is_causal past_key past_value window",
        causal,
        equal_lengths,
        left_window,
        continues,
        lambda case: "window" in case.attributes and length(case, "query") > 1,
        shown="past_key past_value window",
    ),
    "causal, slopes of its own": of("is_causal alibi_slopes", one_shape, causal, published_slopes),
    "slopes": of("alibi_slopes", one_shape),
    "lengths of keys": of("key_lengths", one_shape),
    "padded keys": of("mask", one_shape, masked("boolean", KEYS)),
    "bias of keys": of("mask", one_shape, masked("finite", KEYS)),
    "bias of heads": of("mask", one_shape, masked("finite", POSITIONS)),
    "mask of queries and keys": of("mask", one_shape, masked("boolean", TABLE)),
    "bias of queries and keys": of("mask", one_shape, masked("float", TABLE)),
    "window": of("window", one_shape, even_window),
    "window open to the right": of("window", forward_window),
    "one query, lengths of keys": of("key_lengths", decodes),
    "one query, causal, lengths of keys": of(
        "is_causal key_lengths", decodes, causal, shown="key_lengths", alignment=LAST
    ),
    "one query, causal, window": of("is_causal window", decodes, causal, left_window, shown="window", alignment=LAST),
    "one query, causal, window, lengths of keys": of(
        "is_causal window key_lengths", decodes, causal, left_window, shown="window key_lengths", alignment=LAST
    ),
    "one query, sinks, lengths of keys": of("sinks key_lengths", decodes),
    "one query, past": of("past_key past_value", one_token, continues),
    "one query, past, padded keys": of("past_key past_value mask", one_token, continues, masked("boolean", KEYS)),
    "int8, causal from the last key, scale": of(
        "key_scale value_scale is_causal scale",
        lambda case: "key_scale" in case.inputs and "value_scale" in case.inputs,
        int8,
        one_scale,
        alignment=LAST,
    ),
    "layer": layer(""),
    "layer, biases": layer(f"{BIASES} b_key", biased),
    "layer, causal": layer("is_causal", causal),
    "layer, causal, biases": layer(f"is_causal {BIASES} b_key", causal, biased),
    "layer, causal, padded keys": layer("is_causal mask", causal, masked("boolean", KEYS)),
    "layer, causal, padded keys, biases": layer(
        f"is_causal mask {BIASES} b_key", causal, masked("boolean", KEYS), biased
    ),
    "layer, mask of queries and keys": layer("mask", masked("boolean", TABLE)),
}


@cache
def cases_of(operation):
    suite = load_suite().cases.values()
    return [
        case for case in suite if case.operation == operation and case.rejects is None and case.expected is not None
    ]


def is_called_with(signature: Signature, case) -> bool:
    """Whether a case states nothing that a function of this signature has not."""
    contract = OPERATIONS[signature.operation]
    stated = {name for name, value in case.attributes.items() if value != contract.defaults.get(name)}
    beyond = {*case.inputs, *stated} - {*contract.required_arguments, *signature.takes.split(), "causal_alignment"}
    alignment = case.attributes.get("causal_alignment", signature.alignment)
    return not beyond and alignment == signature.alignment and all(takes(case) for takes in signature.conditions)


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_narrow_signature_gets_cases_that_show_each_of_its_arguments(name):
    signature = SIGNATURES[name]
    cases = [case for case in cases_of(signature.operation) if is_called_with(signature, case)]
    arguments = (signature.takes if signature.shown is None else signature.shown).split()
    for dtype in FLOAT_DTYPES:
        run = [case for case in cases if dtype in case.runs]
        counts = {argument: sum(case.shows(argument, dtype) for case in run) for argument in arguments}
        assert min((len(run), *counts.values())) >= AT_LEAST, (dtype, len(run), counts)
