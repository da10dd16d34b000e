"""Every input in every order of memory, in several batch entries and heads, so that no two axes can be joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.backward.gradients import STORED, drawn, gradients

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SIZES = Sizes(2, 4, 2, 2, 3, 2, 2)
ORDERS = ("fortran", "heads_last", "reversed", "gapped", "inside", "readonly")
TENSORS = ("grad_output", "query", "key", "value", "mask", "output")
_LAYOUT = ("memory_layout",)


def one_order_cases() -> tuple[AuthoredCase, ...]:
    """One input alone in another order; a gradient that is written through a copy is then lost."""
    made: list[AuthoredCase] = []
    for tensor in TENSORS:
        for order in ("fortran", "heads_last"):
            name = f"{order}_{tensor}_alone"
            arguments: dict[str, Any] = {"mask": float_mask(f"backward/{name}", (2, 4, 2, 3))}
            made.append(
                gradients(
                    name,
                    f"The {tensor} alone lies {order.replace('_', ' ')} in memory, in two entries, four heads over two",
                )(
                    SIZES,
                    clauses=_LAYOUT,
                    presentation={tensor: order},
                    derived=STORED if tensor == "output" else (),
                    **(arguments if tensor == "mask" else {}),
                )
            )
    return tuple(made)


def mixed_cases() -> tuple[AuthoredCase, ...]:
    """Each input in an order of its own, which moves on from case to case."""
    made: list[AuthoredCase] = []
    for turn in range(len(ORDERS)):
        name = f"orders_{turn}"
        shape = (2, 4, 2, 3)
        mask = (boolean_mask if turn % 2 else float_mask)(f"backward/{name}", shape)
        presentation = {tensor: ORDERS[(turn + place) % len(ORDERS)] for place, tensor in enumerate(TENSORS)}
        # Those of three axes or fewer have no heads to put last.
        others = tuple(order for order in ORDERS if order != "heads_last")
        of_rows = ("grad_logsumexp", "logsumexp", "sinks", "alibi_slopes")
        presentation |= {tensor: others[(turn + place) % len(others)] for place, tensor in enumerate(of_rows)}
        made.append(
            gradients(name, f"Each input lies in another order in memory, {turn + 1} of {len(ORDERS)}")(
                SIZES,
                clauses=_LAYOUT,
                derived=STORED,
                presentation=presentation,
                with_grad_logsumexp=True,
                mask=mask,
                sinks=[0.5, -1.0, 2.0, 0.25],
                alibi_slopes=[0.5, 0.25, 1.0, 0.125],
                causal_alignment="bottom_right" if turn % 2 else "top_left",
            )
        )
    return tuple(made)


def repeated_cases() -> tuple[AuthoredCase, ...]:
    """One part of memory for several entries, or for several heads, of every input that has them."""
    whole = drawn("backward/repeated", SIZES)
    made: list[AuthoredCase] = []
    for layout, what, axis in (("broadcast", "batch entry", 0), ("heads_broadcast", "head", 1)):
        for tensor in ("key", "value"):
            same = np.broadcast_to(np.take(whole[tensor], [0], axis=axis), whole[tensor].shape).copy()
            arguments: dict[str, Any] = {tensor: same}
            made.append(
                gradients(
                    f"{layout}_{tensor}_alone",
                    f"The {tensor.replace('_', ' ')} of one {what} stands for those of all in memory",
                )(SIZES, clauses=_LAYOUT, presentation={tensor: layout}, **arguments)
            )
        shape = (2, 4, 2, 3)
        mask = float_mask(f"backward/{layout}_mask_alone", (1, 4, 2, 3) if axis == 0 else (2, 1, 2, 3))
        made.append(
            gradients(
                f"{layout}_mask_alone",
                f"The float mask of one {what} stands for those of all in memory, and each has its own gradient",
            )(SIZES, clauses=_LAYOUT, presentation={"mask": layout}, mask=np.broadcast_to(mask, shape).copy())
        )
    return tuple(made)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases about orders of memory."""
    return (*one_order_cases(), *mixed_cases(), *repeated_cases())
