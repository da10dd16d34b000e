"""The layouts that an implementation may have, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from attnspec.adapters import features_first
from attnspec.adapters.arranging import ATTENDING, OVER_KEYS, Arrangement, Axes, LaidOut, read_axes
from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.adapters.implementation import Implementation, Request

_WITHOUT_BATCH = read_axes({"bsd->sd": ATTENDING, "bhqk->hqk": OVER_KEYS})

_ARRANGEMENTS: Mapping[str, Mapping[str, Mapping[str, Axes]]] = {
    "bhse": {},
    "bshe": {
        "scaled_dot_product_attention": read_axes({"bhse->bshe": ATTENDING}),
    },
    "hse": {
        "scaled_dot_product_attention": read_axes({"bhse->hse": ATTENDING, "bhqk->hqk": OVER_KEYS}),
        "multi_head_attention": _WITHOUT_BATCH,
    },
    "se": {
        "scaled_dot_product_attention": read_axes({"bhse->se": ATTENDING, "bhqk->qk": OVER_KEYS}),
        "multi_head_attention": _WITHOUT_BATCH,
    },
}

LAYOUTS = (*_ARRANGEMENTS, features_first.LAYOUT)
"""Names of the layouts: ``bhse`` is the contract's own; ``bshe``, ``hse`` and ``se`` name their axes too."""


def laid_out(implementation: Implementation, layout: str) -> Implementation:
    """Give an implementation of another layout the contract's.

    Parameters
    ----------
    implementation
        Software whose tensors have the axes that `layout` names.
    layout
        ``bhse`` as the contract; ``bshe`` with tokens before heads in query, key, value and output; ``hse``
        without a batch axis; ``se`` without batch and head axes. In `multi_head_attention`, ``hse`` and
        ``se`` both mean that there is no batch axis: (S, D), and weights (H, Sq, Sk). Other operations are
        passed on as they are. ``features_first`` is what :mod:`attnspec.adapters.features_first` says.

    Returns
    -------
    Implementation
        One that takes and gives tensors as the contract has them. Grouped heads are `Declined` where the layout
        has no head axis.

    Raises
    ------
    UsageError
        If there is no such layout.
    """
    if layout not in LAYOUTS:
        near = difflib.get_close_matches(layout.lower(), LAYOUTS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"There is no layout {layout!r}; the layouts are {', '.join(LAYOUTS)}.{hint}")
    if layout == features_first.LAYOUT:
        return LaidOut(implementation, features_first.arrange, layout)
    tables = _ARRANGEMENTS[layout]
    if not tables:
        return implementation

    def arrange(request: Request) -> Arrangement | None:
        tensors = tables.get(request.operation)
        return None if tensors is None else Arrangement(tensors)

    return LaidOut(implementation, arrange, layout)
