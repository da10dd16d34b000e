"""Trivial answers of masks."""

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.trivial_answers import Answer, Answered, Forms, Outputs

_MASK = Forms("attention_mask", ("mask",))


def _mask(call: Answered) -> NDArray[np.bool_]:
    return call.right["mask"].astype(np.bool_)


def _first_entry(call: Answered) -> Outputs:
    return {"mask": np.broadcast_to(_mask(call)[:1], _mask(call).shape)}


def _lower_triangle(call: Answered) -> Outputs:
    shape = _mask(call).shape
    return {"mask": np.broadcast_to(np.tri(*shape[-2:], dtype=np.bool_), shape)}


def _without(*arguments: str) -> Answer:
    """Return the trivial answer that does not look at some arguments, for as many batch entries and heads."""
    unheard = _MASK.without(*arguments)
    return lambda call: {"mask": np.broadcast_to(unheard(call)["mask"], _mask(call).shape)}


TRIVIAL_MASKS = {
    "attention_mask": _MASK.listed(
        {
            "everything": lambda call: {"mask": np.ones_like(_mask(call))},
            "inverted": lambda call: {"mask": ~_mask(call)},
            "lower_triangle": _lower_triangle,
            "first_entry": _first_entry,
            "backwards": lambda call: {"mask": _mask(call)[..., ::-1, :]},
            "queries_moved": _MASK.moved(2),
            "keys_moved": _MASK.moved(3),
            "no_causality": _without("is_causal"),
            "no_window": _without("window"),
            "no_chunks": _without("chunk"),
            "no_prefix": _without("prefix_lengths"),
            "no_documents": _without("query_documents", "key_documents"),
            "no_starts": _without("query_starts", "key_starts"),
            "no_tree": _without("parents"),
            "no_table": _without("attended_blocks", "attended_block_size"),
            "first_corner": _without("offset", "causal_alignment"),
            "every_length": _without("key_lengths", "query_lengths"),
            "no_padding": _without("left_padding"),
        },
        precise=(),
    ),
}
"""Operation to its trivial answers, cheapest first."""
