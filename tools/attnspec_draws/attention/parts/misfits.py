"""Which other values of arguments the pages of attention refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_draws.generators import Misfit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_draws.generators import Drawn

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


def _with(array: NDArray[Any], place: int, number: int) -> NDArray[Any]:
    changed = array.copy()
    changed[place] = number
    return changed


MISFITS: Mapping[str, tuple[Misfit, ...]] = {
    "scaled_dot_product_attention": tuple(_lengths(name, "sdpa.rejects.length") for name in _TOKENS_OF),
    "scaled_dot_product_attention_backward": tuple(
        _lengths(name, "sdpa_backward.rejects.length") for name in _TOKENS_OF
    ),
    "multi_head_attention": (_heads("multi_head.rejects.divisible", "query"),),
    "split_heads": (_heads("split_heads.rejects.divisible", "x"),),
}
