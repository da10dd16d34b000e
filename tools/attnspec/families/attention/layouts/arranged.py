"""The layouts of attention beside the contract's own, ``bhse``: batch, heads, tokens, features.

================== ====================================================================================
Layout             Tensors
================== ====================================================================================
``bshe``           tokens before heads in query, key, value, a past and output, and in their gradients;
                   logarithms stay (B, H, S), latents (B, S, C)
``hse``            no batch axis
``she``            no batch axis, tokens before heads
``se``             neither batch nor head axis
``features_first`` every matrix is the transpose of the contract's: a token is a column
================== ====================================================================================

In `multi_head_attention`, ``hse`` and ``se`` both mean that there is no batch axis: (S, D), and weights (H, Sq, Sk).
Operations that are not named in a layout are passed on as they are. In ``features_first``, X is (D, S), projections
are W @ X with W (out, in) and biases (out, 1), attentions are (Sk, Sq) and normalised over their columns:

============================== ============================== ===========================================
Operation                      It takes                       It gives
============================== ============================== ===========================================
`softmax`                      x (Sk, Sq)                     output (Sk, Sq); without `axis`, its columns
                                                              sum to one
`scaled_dot_product_attention` query (E, Sq), key (E, Sk),    output (Ev, Sq), weights (Sk, Sq)
                               value (Ev, Sk), mask (Sk, Sq)
`single_head_attention`        x (D, S), matrices (out, in)   output, query, key, value (features, S),
                                                              weights, scores (Sk, Sq)
`multi_head_attention`         query (D, Sq), key, value      output (D, Sq), weights (H, Sk, Sq)
                               (D, Sk), matrices (out, in),
                               biases (out, 1), mask (Sk, Sq)
                               or (H, Sk, Sq)
============================== ============================== ===========================================

It is called once for each batch entry, and once for each head where it has no head axis. Whatever has such an axis is
cut with them: a past is that of the entry, a length, a sink or a slope is a single number, without axes.

In the layouts of serving, attention has other arguments: see `serving`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attnspec.contract.arrangement import Arrangement, Axes, AxesOfOperations, Circumstances, Layout, read_axes
from attnspec.families.attention.layouts.latents import with_latents
from attnspec.families.attention.layouts.serving import packed, paged

if TYPE_CHECKING:
    from attnspec.families.record import Arrays

_ATTENDING = ("query", "key", "value", "output")
"""Tensors of tokens, in both attention operations that have a batch axis."""

_PAST = ("past_key", "past_value", "present_key", "present_value")
"""Tensors of tokens that are kept from call to call."""

_GRADIENTS = ("grad_output", "grad_query", "grad_key", "grad_value")
"""Tensors of tokens that the backward pass has beside them."""

_OVER_KEYS = ("mask", "weights", "scores", "logits")
"""Tensors with an entry for each query and key."""

_SCALES = ("query_scale", "key_scale", "value_scale")
"""Tensors with an entry for each key head of each batch entry, or with fewer axes."""

_MATRICES = ("w_query", "w_key", "w_value", "w_output")
_BIASES = ("b_query", "b_key", "b_value", "b_output")
_MERGING = ("output_a", "output_b", "output")
_LOGARITHMS = ("logsumexp_a", "logsumexp_b", "logsumexp")
_QUERIES_OF_LATENTS = ("query_content", "query_latent", "query_rotary", "output", "output_latent")
_LATENTS = ("latent", "key_rotary", "past_latent", "past_key_rotary", "present_latent", "present_key_rotary")
_WITHOUT_BATCH = read_axes({"bsd->sd": _ATTENDING, "bhqk->hqk": _OVER_KEYS})
_LENGTHS = ("key_lengths", "query_lengths")
_LATENTS_WITHOUT_BATCH = read_axes(
    {"bhse->hse": _QUERIES_OF_LATENTS, "bse->se": _LATENTS, "bhqk->hqk": _OVER_KEYS, "b->": _LENGTHS}
)
_OF_HEADS = ("sinks", "alibi_slopes")
_WITHOUT_HEADS = {"bh->": _SCALES, "h->": _OF_HEADS, "b->": _LENGTHS}

_ARRANGEMENTS: Mapping[str, Mapping[str, Arrangement]] = {
    "bshe": {
        "scaled_dot_product_attention": Arrangement(read_axes({"bhse->bshe": (*_ATTENDING, *_PAST)})),
        "merge_states": Arrangement(read_axes({"bhse->bshe": _MERGING})),
        "latent_attention": Arrangement(read_axes({"bhse->bshe": _QUERIES_OF_LATENTS})),
        "absorbed_latent_attention": Arrangement(read_axes({"bhse->bshe": _QUERIES_OF_LATENTS})),
        "scaled_dot_product_attention_backward": Arrangement(read_axes({"bhse->bshe": (*_ATTENDING, *_GRADIENTS)})),
    },
    "hse": {
        "merge_states": Arrangement(read_axes({"bhse->hse": _MERGING, "bhs->hs": _LOGARITHMS})),
        "scaled_dot_product_attention": Arrangement(
            read_axes(
                {
                    "bhse->hse": (*_ATTENDING, *_PAST),
                    "bhqk->hqk": _OVER_KEYS,
                    "bh->h": _SCALES,
                    "b->": _LENGTHS,
                }
            )
        ),
        "multi_head_attention": Arrangement(_WITHOUT_BATCH),
        "latent_attention": Arrangement(_LATENTS_WITHOUT_BATCH),
        "absorbed_latent_attention": Arrangement(_LATENTS_WITHOUT_BATCH),
    },
    "she": {
        "scaled_dot_product_attention": Arrangement(
            read_axes({"bhse->she": _ATTENDING, "bhqk->hqk": _OVER_KEYS, "bh->h": _SCALES})
        ),
    },
    "se": {
        "merge_states": Arrangement(read_axes({"bhse->se": _MERGING, "bhs->s": _LOGARITHMS})),
        "scaled_dot_product_attention": Arrangement(
            read_axes({"bhse->se": (*_ATTENDING, *_PAST), "bhqk->qk": _OVER_KEYS, **_WITHOUT_HEADS})
        ),
        "multi_head_attention": Arrangement(_WITHOUT_BATCH),
    },
}

_OF_COLUMNS: Mapping[str, Arrangement] = {
    "scaled_dot_product_attention": Arrangement(
        read_axes({"bhse->es": (*_ATTENDING, *_PAST), "bhqk->kq": _OVER_KEYS, **_WITHOUT_HEADS})
    ),
    "single_head_attention": Arrangement(
        read_axes({"sd->ds": ("x", *_ATTENDING), "qk->kq": ("weights", "scores"), "io->oi": _MATRICES})
    ),
    "multi_head_attention": Arrangement(
        read_axes({"bsd->ds": _ATTENDING, "bhqk->hkq": _OVER_KEYS, "io->oi": _MATRICES, "o->o1": _BIASES})
    ),
}


class _FeaturesFirst(AxesOfOperations):
    """The axes of a layout in which a token is a column, so that a softmax over the last axis is over the first."""

    def __call__(
        self, operation: str, inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances
    ) -> Arrangement | str | None:
        if operation == "softmax":
            return _softmax_of_columns(inputs["x"].ndim, attributes)
        return super().__call__(operation, inputs, attributes, circumstances)

    @property
    def concerns(self) -> frozenset[str]:
        """The operations that have another form in it."""
        return super().concerns | {"softmax"}


def _softmax_of_columns(rank: int, attributes: Mapping[str, Any]) -> Arrangement | str | None:
    """Transpose the last two axes, and with them the axis that the softmax is over.

    An axis that a case does not state is the last one, the first of the transpose. It is not stated to the
    implementation either, whose own default is to be that one.
    """
    if rank < 2:
        return None
    axis = attributes.get("axis", -1)
    if axis is not None:
        axis = axis - rank if axis >= 0 else axis
    if axis not in ((-1, -2, None) if rank == 2 else (-1, -2)):
        return "a softmax over another axis than the last two"
    flipped = {-1: 0, -2: 1, None: None}[axis]
    attributes = {**attributes, "axis": flipped} if "axis" in attributes else attributes
    swapped = Axes(f"{string.ascii_uppercase[: rank - 2]}qk", "kq")
    return Arrangement({"x": swapped, "output": swapped}, attributes)


LAYOUTS: Mapping[str, Layout] = {
    **{layout: AxesOfOperations(operations) for layout, operations in _ARRANGEMENTS.items()},
    "features_first": _FeaturesFirst(_OF_COLUMNS),
    "packed": packed,
    "paged": with_latents(paged(by_list=False, heads_first=False)),
    "paged_heads_first": paged(by_list=False, heads_first=True),
    "paged_csr": with_latents(paged(by_list=True, heads_first=False)),
    "paged_csr_heads_first": paged(by_list=True, heads_first=True),
}
"""Name of a layout to what arranges a request in it."""
