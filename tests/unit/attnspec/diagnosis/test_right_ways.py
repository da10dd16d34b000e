"""Right ways in unlike styles: whoever follows the first offer once has nothing red left.

None of them says anything beforehand. Each is written as its author would write it, without a look at the suite.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec

FORWARD = "scaled_dot_product_attention"


def softmax(scores):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def low_number_selected(query, key, value, mask=None):
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    weights = softmax(scores)
    return np.matmul(weights, value), weights


def low_number_added(query, key, value, mask=None, is_causal=False):
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + (1.0 - mask) * -1e9
    if is_causal:
        scores = scores + np.triu(np.full(scores.shape[-2:], -1e9), 1)
    return softmax(scores) @ value


def everything_added(query, key, value, mask=None, is_causal=False, scale=None):
    scores = query @ key.swapaxes(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    bias = np.zeros(scores.shape[-2:])
    if is_causal:
        bias = np.where(np.tri(*scores.shape[-2:], dtype=bool), 0.0, -np.inf)
    if mask is not None:
        bias = bias + (np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask)
    return softmax(scores + bias) @ value


def einsum(query, key, value):
    scores = np.einsum("bhqd,bhkd->bhqk", query, key) / np.sqrt(query.shape[-1])
    return np.einsum("bhqk,bhkd->bhqd", softmax(scores), value)


def loops(query, key, value):
    batch, heads, queries, width = query.shape
    output = np.zeros((batch, heads, queries, value.shape[3]), query.dtype)
    for at in np.ndindex(batch, heads, queries):
        scores = [
            sum(query[at][e] * key[at[0], at[1], j, e] for e in range(width)) / width**0.5 for j in range(key.shape[2])
        ]
        if scores:
            largest = max(scores)
            total = sum(np.exp(score - largest) for score in scores)
            output[at] = sum(np.exp(score - largest) / total * value[at[0], at[1], j] for j, score in enumerate(scores))
    return output


def online(query, key, value, scale=None):
    group = query.shape[1] // max(key.shape[1], 1)
    key, value = np.repeat(key, group, 1), np.repeat(value, group, 1)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    largest, total = np.full((*query.shape[:3], 1), -np.inf), np.zeros((*query.shape[:3], 1))
    output = np.zeros((*query.shape[:3], value.shape[3]))
    for first in range(0, key.shape[2], 4):
        scores = query @ key[:, :, first : first + 4].swapaxes(-1, -2) * scale
        above = np.maximum(largest, scores.max(-1, keepdims=True))
        shift = np.where(np.isneginf(above), 0, above)
        weights, kept = np.exp(scores - shift), np.exp(largest - shift)
        total = total * kept + weights.sum(-1, keepdims=True)
        output = output * kept + weights @ value[:, :, first : first + 4]
        largest = above
    return output / np.where(total == 0, 1, total), (largest + np.log(total))[..., 0]


def in_logarithms(query, key, value, mask=None):
    scores = query @ np.moveaxis(key, -1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)) @ value


def in_float32(query, key, value):
    query, key, values = (array.astype(np.float32) for array in (query, key, value))
    scores = np.einsum("...qd,...kd->...qk", query, key) / np.float32(math.sqrt(query.shape[-1]))
    return np.einsum("...qk,...kd->...qd", softmax(scores), values).astype(value.dtype)


def compensated(query, key, value):
    def total(terms):
        found, lost = np.zeros(terms.shape[1:]), np.zeros(terms.shape[1:])
        for term in terms:
            exact = term - lost
            larger = found + exact
            found, lost = larger, (larger - found) - exact
        return found

    group = query.shape[1] // max(key.shape[1], 1)
    key, value = np.repeat(key, group, 1), np.repeat(value, group, 1)
    scores = total(np.moveaxis(query, -1, 0)[..., None] * np.moveaxis(key, -1, 0)[..., None, :])
    scores = scores / math.sqrt(query.shape[-1])
    weights = np.moveaxis(np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf)), -1, 0)
    whole = total(weights)
    output = total(weights[..., None] * np.moveaxis(value, 2, 0)[:, :, :, None, :])
    return output / np.where(whole == 0, 1, whole)[..., None]


def masked_sums(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    keep = np.ones(scores.shape, bool) if mask is None else np.ones(scores.shape, bool) & mask
    weights = np.where(keep, np.exp(scores - np.max(scores, axis=-1, keepdims=True, where=keep, initial=-1e30)), 0)
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total != 0) @ value


def heads_flattened(query, key, value, mask=None):
    batch, heads, queries, width = query.shape
    scores = query.reshape(-1, queries, width) @ key.reshape(batch * heads, -1, width).transpose(0, 2, 1)
    scores = scores / np.sqrt(width)
    if mask is not None:
        scores = np.where(
            np.broadcast_to(mask, (batch, heads, *scores.shape[1:])).reshape(scores.shape), scores, -np.inf
        )
    return (softmax(scores) @ value.reshape(batch * heads, *value.shape[2:])).reshape(batch, heads, queries, -1)


def packed_densely(query, key, value, query_starts, key_starts):
    of_query, of_key = (
        np.searchsorted(starts[1:], np.arange(len(tokens)), side="right")
        for starts, tokens in ((query_starts, query), (key_starts, key))
    )
    scores = np.einsum("qhd,khd->hqk", query, key) / np.sqrt(query.shape[-1])
    scores = scores + np.where(of_query[:, None] == of_key[None, :], 0, -1e9)
    return np.einsum("hqk,khd->qhd", softmax(scores), value)


def gradients(grad_output, query, key, value, mask=None):
    scale = query.shape[-1] ** -0.5
    scores = query @ key.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    weights = softmax(scores)
    products = weights * (grad_output @ value.swapaxes(-1, -2))
    grad_scores = (products - weights * products.sum(-1, keepdims=True)) * scale
    return grad_scores @ key, grad_scores.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grad_output


def layer(query, key, value, w_query, w_key, w_value, w_output, num_heads, mask=None):
    def heads(tokens, weight):
        return np.stack(np.split(tokens @ weight, num_heads, -1), 1)

    queries, keys = heads(query, w_query), heads(key, w_key)
    scores = queries @ keys.swapaxes(-1, -2) / math.sqrt(queries.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    mixed = softmax(scores) @ heads(value, w_value)
    return np.concatenate([mixed[:, head] for head in range(num_heads)], -1) @ w_output


def frequencies(width, theta=10000.0):
    return 1.0 / theta ** (np.arange(0, width, 2) / width)


def turned_as_complex_numbers(x, cos, sin, pairing="half"):
    turned = 2 * cos.shape[-1]
    first, second = (
        (x[..., : turned // 2], x[..., turned // 2 : turned])
        if pairing == "half"
        else (x[..., :turned:2], x[..., 1:turned:2])
    )
    points = (first + 1j * second) * (cos + 1j * sin)[:, None]
    if pairing == "half":
        parts = np.concatenate([points.real, points.imag], -1)
    else:
        parts = np.stack([points.real, points.imag], -1).reshape(*x.shape[:-1], turned)
    return np.concatenate([parts, x[..., turned:]], -1)


def attending(function, **others):
    return SimpleNamespace(**{FORWARD: function}, **others)


WAYS = {
    **{
        function.__name__: attending(function)
        for function in (low_number_selected, low_number_added, everything_added, einsum, loops, online, in_logarithms)
    },
    **{function.__name__: attending(function) for function in (in_float32, compensated, masked_sums, heads_flattened)},
    "packed densely": attending(packed_densely, layout="packed"),
    "gradients": SimpleNamespace(scaled_dot_product_attention_backward=gradients),
    "layer": SimpleNamespace(multi_head_attention=layer),
    "frequencies alone": SimpleNamespace(rotary_frequencies=frequencies),
    "complex numbers": SimpleNamespace(apply_rotary=turned_as_complex_numbers),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_follows_the_first_offer_has_nothing_red_left(way):
    report = attnspec.validate(WAYS[way], probes=False)
    offer = report.could_be_declared
    assert offer is not None
    after = attnspec.validate(WAYS[way], without=offer.without, conventions=offer.conventions, probes=False)
    assert not after.wrong
    assert any(result.establishes for result in after.results)
