"""Features-first implementations: every matrix is the transpose of the contract's.

A token is a column. X is (D, S), projections are W @ X with W (out, in) and biases (out, 1), attentions are
(Sk, Sq) and normalised over their columns, and there is no batch axis.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, cast

from attnspec.adapters.arranging import ATTENDING, OVER_KEYS, Arrangement, Axes, LaidOut, read_axes
from attnspec.adapters.implementation import Declaration, Declined, Implementation, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

LAYOUT = "features_first"
"""How the layout is called in messages."""

_MATRICES = ("w_query", "w_key", "w_value", "w_output")
_BIASES = ("b_query", "b_key", "b_value", "b_output")


_ARRANGEMENTS: Mapping[str, Arrangement] = {
    operation: Arrangement(tensors)
    for operation, tensors in {
        "scaled_dot_product_attention": read_axes({"bhse->es": ATTENDING, "bhqk->kq": OVER_KEYS}),
        "single_head_attention": read_axes(
            {"sd->ds": ("x", *ATTENDING), "qk->kq": ("weights", "scores"), "io->oi": _MATRICES}
        ),
        "multi_head_attention": read_axes(
            {"bsd->ds": ATTENDING, "bhqk->hkq": OVER_KEYS, "io->oi": _MATRICES, "o->o1": _BIASES}
        ),
    }.items()
}


def features_first(target: object) -> Implementation:
    """Give a features-first implementation the contract's layout.

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

    It is called once for each batch entry, and once for each head where it has no head axis; grouped heads
    are `Declined`. The other operations are passed on as they are.

    Parameters
    ----------
    target
        Software whose tokens are columns: anything that :func:`attnspec.load` takes, or an implementation.

    Returns
    -------
    Implementation
        One that takes and gives tensors as the contract has them.

    Raises
    ------
    TargetError
        If `target` cannot be found, imported or used.
    """
    from attnspec.adapters.loading import load

    is_implementation = isinstance(getattr(target, "declaration", None), Declaration)
    implementation = cast("Implementation", target) if is_implementation else load(target)
    return LaidOut(implementation, arrange, LAYOUT)


def arrange(request: Request) -> Arrangement | Declined | None:
    """Arrange a request for an implementation whose tokens are columns."""
    if request.operation == "softmax":
        return _arrange_softmax(request)
    return _ARRANGEMENTS.get(request.operation)


def _arrange_softmax(request: Request) -> Arrangement | Declined | None:
    """Transpose the last two axes, and with them the axis that the softmax is over.

    A case that does not state its axis means the last one, which is the first one of the transpose; so it is
    not stated to the implementation either, whose own default is to be that one.
    """
    rank = request.inputs["x"].ndim
    if rank < 2:
        return None
    axis = request.attributes.get("axis", -1)
    if axis is not None:
        axis = axis - rank if axis >= 0 else axis
    if axis not in ((-1, -2, None) if rank == 2 else (-1, -2)):
        return Declined(f"cannot be put in the layout {LAYOUT}: a softmax over another axis than the last two")
    flipped = {-1: 0, -2: 1, None: None}[axis]
    attributes = {**request.attributes, "axis": flipped} if "axis" in request.attributes else request.attributes
    swapped = Axes(f"{string.ascii_uppercase[: rank - 2]}qk", "kq")
    return Arrangement({"x": swapped, "output": swapped}, attributes)
