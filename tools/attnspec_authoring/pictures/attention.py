"""Pictures of the operations of attention, of the worked examples on their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

import attnspec_reference as reference
from attnspec_authoring.pictures.drawing import attending, bars, heat_map, picture
from attnspec_authoring.pictures.tensors import tensors

Numbers = NDArray[np.float64]


_LATENT, _ROTATED = np.eye(2), np.array([[0.0], [2.0]])
"""Latents and rotated keys of two tokens, those of the worked example of latent attention and its absorbed form."""


def numbered(name: str, count: int) -> list[str]:
    """Return names with numbers from 0."""
    return [f"{name} {index}" for index in range(count)]


def softmax() -> str:
    """Draw a table before and after, rows that become shares."""
    case = tensors("documents/001/softmax_of_rows")
    return picture(
        "Numbers in rows, and their shares: each row of shares sums to 1",
        heat_map("x", case["x"], digits=1),
        heat_map("softmax along each row", case["output"], note="each row sums to 1"),
    )


def causal_mask() -> str:
    """Draw who may see whom, with as many keys as queries, and with two queries at the end."""
    square, last = (
        tensors(f"documents/002/causal_mask_boolean{name}")["output"].astype(float)
        for name in ("", "_last_two_queries")
    )
    return picture(
        "Each query sees its own key and those before it",
        *(
            heat_map(title, mask, rows=numbered("query", len(mask)), columns=numbered("key", 4), digits=0)
            for title, mask in (("four queries", square), ("the last two, offset 2", last))
        ),
    )


def split_heads() -> str:
    """Draw a table, and its two halves."""
    case = tensors("documents/003/split_query_weights")
    heads = case["output"][0]
    return picture(
        "The features of each token are cut into two heads",
        heat_map("x: four tokens", case["x"][0], columns=["head 0", "", "head 1", ""]),
        *(heat_map(f"head {index}", head) for index, head in enumerate(heads)),
    )


def combine_heads() -> str:
    """Draw two heads, and both side by side."""
    case = tensors("documents/003/concatenated_value_weights")
    return picture(
        "Two heads are laid side by side",
        *(heat_map(f"head {index}", head) for index, head in enumerate(case["x"][0])),
        heat_map("output: four tokens", case["output"][0], columns=["head 0", "", "head 1", ""]),
    )


def scaled_dot_product_attention() -> str:
    """Draw the query of the first example, and who sees whom in those of windows and of a cache."""
    of_is = tensors("documents/003/self_attention")["weights"][1:2]
    keys = ["this", "is", "translation"]
    queries = np.zeros((1, 1, 4, 1))
    window = reference.scaled_dot_product_attention(queries, queries, queries, is_causal=True, window=(1, 0))
    past = np.zeros((1, 1, 3, 1))
    cached = reference.scaled_dot_product_attention(
        queries[:, :, :2], queries[:, :, :2], queries[:, :, :2], past_key=past, past_value=past, is_causal=True
    )
    seen: Mapping[str, Numbers] = {
        "window [1, 0], causal": window.weights[0, 0],
        "a past of three": cached.weights[0, 0],
    }
    return picture(
        "One query attends to three keys; which keys four queries see through a window, and two behind a past",
        attending("who attends to whom", of_is, ["is"], keys),
        *(
            heat_map(title, weights, rows=numbered("query", len(weights)), columns=numbered("key", weights.shape[1]))
            for title, weights in seen.items()
        ),
    )


def scaled_dot_product_attention_backward() -> str:
    """Draw the gradients of the example with two keys, from the output back to the keys."""
    one = np.ones((1, 1, 1, 1))
    gradients = reference.scaled_dot_product_attention_backward(
        one, 2 * one, np.ones((1, 1, 2, 1)), np.array([1.0, 3.0]).reshape(1, 1, 2, 1), scale=1.0
    )
    keys = numbered("key", 2)
    return picture(
        "Gradients of two scores, one below zero and one above, and of the keys that made them",
        heat_map("grad_output", one.reshape(1, -1), digits=1),
        heat_map("grad_value", gradients.grad_value.reshape(1, -1), columns=keys, digits=1),
        heat_map(
            "grad_scores",
            gradients.grad_scores.reshape(1, -1),
            columns=keys,
            digits=1,
            note="weight times (grad - delta)",
        ),
        heat_map("grad_key", gradients.grad_key.reshape(1, -1), columns=keys, digits=1),
    )


def latent_attention() -> str:
    """Draw two tokens, the keys and values that a head makes of them, and what one query takes from each."""
    tokens = numbered("token", 2)
    w_key, w_value = np.array([[1.0], [0.0]]), np.array([[4.0], [8.0]])
    result = reference.latent_attention(
        np.full((1, 1, 1, 1), 2.0), np.ones((1, 1, 1, 1)), _LATENT[None], _ROTATED[None], w_key[None], w_value[None]
    )
    return picture(
        "A head makes a key and a value of the latent of each token, and one query attends to both alike",
        heat_map("latent", _LATENT, rows=tokens, digits=0),
        heat_map("key, and rotated", np.hstack([_LATENT @ w_key, _ROTATED]), digits=0),
        heat_map("value", _LATENT @ w_value, digits=0),
        attending("weights", result.weights[0, 0], ["query"], tokens),
        heat_map("output", result.output[0, 0], digits=0),
    )


def absorbed_latent_attention() -> str:
    """Draw the same query after it absorbed the matrix of keys, and the mean of latents."""
    tokens, query = numbered("token", 2), np.array([[2.0, 0.0]])
    result = reference.absorbed_latent_attention(
        query.reshape(1, 1, 1, 2), np.ones((1, 1, 1, 1)), _LATENT[None], _ROTATED[None], scale=0.5**0.5
    )
    return picture(
        "A query that absorbed the matrix of keys attends to two latents alike, and their mean comes back",
        heat_map("query_latent, and rotated", np.hstack([query, np.ones((1, 1))]), digits=0),
        heat_map("latent, and rotated key", np.hstack([_LATENT, _ROTATED]), rows=tokens, digits=0),
        attending("weights", result.weights[0, 0], ["query"], tokens),
        heat_map("output_latent", result.output_latent[0, 0], digits=1),
    )


def merge_states() -> str:
    """Draw two parts, of which the second counts three times as much."""
    parts = np.array([[1.0, 2.0], [4.0, 5.0]])
    merged = reference.merge_states(
        parts[:1].reshape(1, 1, 1, 2),
        np.zeros((1, 1, 1)),
        parts[1:].reshape(1, 1, 1, 2),
        np.full((1, 1, 1), np.log(3.0)),
    )
    return picture(
        "Two parts of the keys, one of which counts three times as much as the other, make one output",
        heat_map("outputs of the parts", parts, rows=["part a", "part b"], digits=1),
        attending("merged from", np.array([[0.25, 0.75]]), ["output"], ["part a: 1/4", "part b: 3/4"]),
        heat_map("output", merged.output.reshape(1, 2)),
    )


def single_head_attention() -> str:
    """Draw three tokens that attend to each other, step by step."""
    case = tensors("documents/001/single_head")
    names = numbered("token", 3)
    return picture(
        "Three tokens: their scores, their weights as a heat map, who attends to whom, and the output",
        heat_map("scores", case["scores"], rows=names, digits=0),
        heat_map("weights", case["weights"], note="each row sums to 1"),
        attending("who attends to whom", case["weights"], names, names),
        heat_map("output", case["output"]),
    )


def multi_head_attention() -> str:
    """Draw who attends to whom in each of two heads."""
    weights = tensors("documents/004/two_heads")["weights"][0]
    names = numbered("token", 6)
    return picture(
        "Weights of two heads over six tokens: each head attends otherwise",
        *(heat_map(f"weights of head {index}", head, rows=names) for index, head in enumerate(weights)),
        attending("who attends to whom in head 1", weights[1], names, names),
    )


def context_vector() -> str:
    """Draw encoder states, their weights, and their weighted sum."""
    case = tensors("documents/003/context_vector")
    names = numbered("token", 4)
    return picture(
        "Four encoder states, the weight of each, and the context that they make",
        heat_map("encoder_states", case["encoder_states"], rows=names),
        attending("weights", case["weights"].reshape(1, -1), ["decoder"], [f"{w:.2f}" for w in case["weights"]]),
        heat_map("context", case["context"].reshape(1, -1), digits=3),
    )


def glorot_normal() -> str:
    """Count the elements of a matrix of 64 by 64 in steps of half a deviation."""
    matrix = reference.glorot_normal(fan_in=64, fan_out=64, seed=42)
    steps = np.arange(-3.5, 4.0, 0.5)
    counts, _ = np.histogram(matrix / 0.125, bins=steps)
    return picture(
        "How many of 4096 elements lie how far from 0: a bell",
        bars(
            "elements by distance from 0, in deviations of 0.125",
            counts.tolist(),
            [f"{start:g}" for start in steps[:-1]],
            note="seed 42; each bar is half a deviation wide",
        ),
    )


PICTURES: Mapping[str, Callable[[], str]] = {
    draw.__name__: draw
    for draw in (
        *(softmax, causal_mask, split_heads, combine_heads),
        *(scaled_dot_product_attention, scaled_dot_product_attention_backward, merge_states),
        *(latent_attention, absorbed_latent_attention),
        *(single_head_attention, multi_head_attention, context_vector, glorot_normal),
    )
}
"""Operation to what draws its picture."""
