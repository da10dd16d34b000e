"""Refusals of attention: clauses by which other shapes of inputs, and other values of arguments, are refused."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.refusing import Misfit, Refusals


def _alone(clause: str) -> Refusals:
    """Return one clause for whatever is wrong."""
    return Refusals((clause,), clause)


def _of_attention(prefix: str) -> dict[str, Refusals]:
    """Return what attention and its backward pass refuse alike; a query may have other heads and tokens than a key."""
    batch, heads, tokens, width, rank, mask = (
        f"{prefix}.rejects.{word}" for word in ("batch", "grouped", "length", "width", "rank", "mask_shape")
    )
    return {
        "query": Refusals((batch, None, None, width), rank),
        "key": Refusals((batch, heads, tokens, width), rank),
        "value": Refusals((batch, heads, tokens, None), rank),
        "mask": _alone(mask),
        "key_lengths": Refusals((batch, None)),
        "query_lengths": Refusals((batch, None)),
    }


_GRADIENT = _alone("sdpa_backward.rejects.gradient_shape")
_SCALE = _alone("sdpa.rejects.scale_shape")
_PAST = Refusals(("sdpa.rejects.batch", "sdpa.rejects.grouped", "sdpa.rejects.length", None))
_OUTPUT = Refusals(("merge.rejects.outputs",) * 4, "merge.rejects.rank")
_LOGARITHM = Refusals(("merge.rejects.logsumexp",) * 3, "merge.rejects.rank")
_TOKENS = Refusals(rank="multi_head.rejects.rank")

REFUSALS: Mapping[str, Mapping[str, Refusals]] = {
    "scaled_dot_product_attention": {
        **_of_attention("sdpa"),
        **dict.fromkeys(("past_key", "past_value"), _PAST),
        **dict.fromkeys(("query_scale", "key_scale", "value_scale"), _SCALE),
    },
    "scaled_dot_product_attention_backward": {
        **_of_attention("sdpa_backward"),
        **dict.fromkeys(("grad_output", "grad_logsumexp"), _GRADIENT),
    },
    "merge_states": {"output_a": _OUTPUT, "output_b": _OUTPUT, "logsumexp_a": _LOGARITHM, "logsumexp_b": _LOGARITHM},
    "multi_head_attention": {"query": _TOKENS, "key": _TOKENS, "value": _TOKENS},
    "context_vector": {
        "encoder_states": Refusals((None, "context_vector.rejects.width")),
        "decoder_state": Refusals(("context_vector.rejects.width",)),
    },
    "split_heads": {"x": Refusals((None, None, "split_heads.rejects.divisible"))},
}

_TOKENS_OF = {"key_lengths": "key", "query_lengths": "query"}


def _heads(clause: str, tokens: str) -> Misfit:
    """Return numbers of heads of which the features of some tokens are no multiple."""

    def values(drawn: Drawn) -> list[int]:
        features = drawn.inputs[tokens].shape[-1]
        return [heads for heads in range(2, features + 2) if features % heads]

    return Misfit("num_heads", clause, values)


def _lengths(argument: str, clause: str) -> Misfit:
    """Return lengths of which one is below 0, or longer than what it counts."""

    def values(drawn: Drawn) -> list[NDArray[Any]]:
        lengths = drawn.inputs.get(argument)
        if lengths is None:
            return []
        tokens = drawn.inputs[_TOKENS_OF[argument]].shape[2]
        return [_with(lengths, entry, length) for entry in range(lengths.size) for length in (-1, tokens + 1)]

    return Misfit(argument, clause, values)


def _with(array: NDArray[Any], index: int, number: int) -> NDArray[Any]:
    changed = array.copy()
    changed[index] = number
    return changed


MISFITS: Mapping[str, tuple[Misfit, ...]] = {
    "scaled_dot_product_attention": tuple(_lengths(name, "sdpa.rejects.length") for name in _TOKENS_OF),
    "scaled_dot_product_attention_backward": tuple(
        _lengths(name, "sdpa_backward.rejects.length") for name in _TOKENS_OF
    ),
    "multi_head_attention": (_heads("multi_head.rejects.divisible", "query"),),
    "split_heads": (_heads("split_heads.rejects.divisible", "x"),),
}
