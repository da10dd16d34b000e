"""Right implementations of norms in another way: sums in order, products, reciprocal roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, named_output, patch
from attnspec_reference.norms.qk_norm import NormalizedPair, qk_norm
from attnspec_reference.norms.qk_norm import normalize as normalize_heads
from attnspec_reference.norms.rms_norm import divide_by_root, mean_square_of, multiply, rms_norm
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, pairs_of, put_back


def one_after_the_other(x: Array) -> Array:
    """Add the squares feature by feature."""
    total = np.zeros_like(x[..., :1])
    for index in range(x.shape[-1]):
        total = total + x[..., index : index + 1] * x[..., index : index + 1]
    return total / np.asarray(x.shape[-1], dtype=x.dtype)


def by_products(x: Array) -> Array:
    """Multiply each row by itself, as a matrix product of one number."""
    rows = x[..., np.newaxis, :] @ x[..., :, np.newaxis]
    return rows[..., 0] * np.asarray(1 / x.shape[-1], dtype=x.dtype)


def by_largest(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Divide by the largest feature first, and the root with it."""
    del mean_square
    largest: Array = np.max(np.abs(x), axis=-1, keepdims=True)
    largest[(largest == 0) | ~np.isfinite(largest)] = 1
    root = np.sqrt(mean_square_of(x / largest) + np.asarray(epsilon, dtype=x.dtype) / largest / largest)
    return x / largest / root


def by_reciprocal_root(x: Array, mean_square: Array, epsilon: float) -> Array:
    """Multiply by the reciprocal of the root."""
    return x * (1 / np.sqrt(mean_square + np.asarray(epsilon, dtype=x.dtype)))


@quietly
def rounded_before_weight(x: Any, weight: Any, *, epsilon: float, weight_offset: str = "zero") -> Array:
    """Round the normalized features, and 1 + weight, to the dtype before they are multiplied, as Llama's modules do."""
    rms_norm(x, weight, epsilon=epsilon, weight_offset=weight_offset)
    dtype = result_dtype(x)
    wide = widen(x, dtype)
    normalized = round_to(dtype, divide_by_root(wide, mean_square_of(wide), epsilon))
    factor = round_to(dtype, widen(weight, dtype) + (weight_offset == "one"))
    return round_to(dtype, widen(normalized, dtype) * widen(factor, dtype))


def root_and_weight_first(x: Array, weight: Array, *, epsilon: float, weight_offset: str = "zero") -> Array:
    """Multiply the reciprocal root by the weights, and the features by that."""
    rms_norm(x, weight, epsilon=epsilon, weight_offset=weight_offset)
    reciprocal = divide_by_root(np.ones_like(x), mean_square_of(x), epsilon)
    return x * multiply(reciprocal, weight, weight_offset)


def rounded_between(
    query: Any, key: Any, query_weight: Any, key_weight: Any, cos: Any = None, sin: Any = None, **attributes: Any
) -> NormalizedPair:
    """Normalize and rotate in calls of their own, with half precision between them and inside of both."""
    pairing = attributes.pop("pairing", "half")
    if cos is not None or sin is not None:
        qk_norm(query, key, query_weight, key_weight, cos, sin, pairing=pairing, **attributes)
    pair = patch(qk_norm, normalize=rounded_inside(result_dtype(query)))(
        query, key, query_weight, key_weight, **attributes
    )
    if cos is None or sin is None:
        return pair
    return NormalizedPair(*(apply_rotary(each, cos, sin, pairing=pairing) for each in pair))


def rounded_inside(dtype: Any) -> Any:
    """Make a norm that rounds the normalized features to a dtype before they are multiplied by their weights."""

    def rounded(x: Array, mean_square: Array, epsilon: float) -> Array:
        return round_to(dtype, divide_by_root(x, mean_square, epsilon)).astype(x.dtype)

    return patch(normalize_heads, divide_by_root=rounded)


def token_by_token(
    query: Array, key: Array, query_weight: Array, key_weight: Array, cos: Any = None, sin: Any = None, **words: Any
) -> NormalizedPair:
    """Normalize and rotate one token after the other."""
    whole = qk_norm(query, key, query_weight, key_weight, cos, sin, **words)
    outputs = NormalizedPair(np.empty_like(whole.query_output), np.empty_like(whole.key_output))
    for token in range(query.shape[2]):
        at = slice(token, token + 1)
        tables = [None if table is None else table[:, at] for table in (cos, sin)]
        one = qk_norm(query[:, :, at], key[:, :, at], query_weight, key_weight, tables[0], tables[1], **words)
        outputs.query_output[:, :, at], outputs.key_output[:, :, at] = one.query_output, one.key_output
    return outputs


def rotated_by_complex_numbers(x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Multiply each pair, as a complex number, by another one."""
    width = 2 * cos.shape[-1]
    first, second = pairs_of(x[..., :width], pairing)
    turned = (first + 1j * second) * (cos + 1j * sin)[:, np.newaxis]
    return put_back(np.real(turned).astype(x.dtype), np.imag(turned).astype(x.dtype), pairing, x[..., width:])


def by_a_row_in_fragments(x: Array) -> Array:
    """Sum the squares of four fragments, and these sums."""
    fragments = [np.sum(x[..., start::4] ** 2, axis=-1, keepdims=True) for start in range(4)]
    return ((fragments[0] + fragments[1]) + (fragments[2] + fragments[3])) / np.asarray(x.shape[-1], dtype=x.dtype)


def _of_norm(name: str, sentence: str, **steps: Any) -> Control:
    return Control(f"rms_norm.{name}", "rms_norm", sentence, named_output(patch(rms_norm, **steps)))


def _of_both(name: str, sentence: str, **steps: Any) -> Control:
    return Control(f"qk_norm.{name}", "qk_norm", sentence, patch(qk_norm, normalize=patch(normalize_heads, **steps)))


CONTROLS: tuple[Control, ...] = (
    _of_norm("one_after_the_other", "The squares are added feature by feature.", mean_square_of=one_after_the_other),
    _of_norm("by_products", "Each row is multiplied by itself.", mean_square_of=by_products),
    _of_norm("by_largest", "Features are divided by the largest one first.", divide_by_root=by_largest),
    _of_norm("by_reciprocal_root", "Features are multiplied by a reciprocal root.", divide_by_root=by_reciprocal_root),
    Control(
        "rms_norm.rounded_before_weight",
        "rms_norm",
        "The normalized features are rounded to half precision before they are multiplied by the weight.",
        named_output(rounded_before_weight),
    ),
    Control(
        "rms_norm.root_and_weight_first",
        "rms_norm",
        "The reciprocal root is multiplied by the weights first.",
        in_working_precision(root_and_weight_first),
    ),
    _of_both("one_after_the_other", "The squares are added feature by feature.", mean_square_of=one_after_the_other),
    _of_both("by_fragments", "Four fragments of a row are summed apart.", mean_square_of=by_a_row_in_fragments),
    _of_both("by_reciprocal_root", "Features are multiplied by a reciprocal root.", divide_by_root=by_reciprocal_root),
    Control(
        "qk_norm.rounded_between",
        "qk_norm",
        "Norm, weight and rotation are steps of their own, with half precision between them.",
        rounded_between,
    ),
    Control(
        "qk_norm.token_by_token",
        "qk_norm",
        "Tokens are normalized and rotated one by one.",
        in_working_precision(token_by_token),
    ),
    Control(
        "qk_norm.by_complex_numbers",
        "qk_norm",
        "The pairs are rotated as complex numbers.",
        patch(qk_norm, turn=rotated_by_complex_numbers),
    ),
)
