"""The valid counterparts of refused cases, and how a refused case is made from one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes.attention.attention import Sizes, attention, booleans, floats, made_for, profile
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, headed, reported
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

rejects = profile("rejects")

STRICT = ("input_checks", "strict")
SIZES = Sizes(3, 2, 2, 4, 5, 2)
GROUPED = Sizes(1, 6, 2, 4, 5, 2)
PAST = Sizes(3, 2, 2, 4, 5, 2, past=3)
SINGLE = {"entry": Sizes(1, 2, 2, 4, 5, 2), "head": Sizes(3, 1, 1, 4, 5, 2), "query": Sizes(3, 2, 2, 1, 5, 2)}
"""Sizes of which one is 1, which the rules of NumPy repeat for a mask."""
PLAIN = "rejects/twin_plain"


@cache
def counterparts() -> tuple[AuthoredCase, ...]:
    """Return the valid cases beside which others are refused."""
    return (
        attention(PLAIN, "Valid twin: query, key and value")(SIZES, clauses="scores output"),
        rejects("twin_boolean_mask", "Valid twin: a Boolean mask of rank 4")(SIZES, mask=booleans(*SIZES.mask)),
        rejects("twin_float_mask", "Valid twin: a float mask of rank 3")(SIZES, mask=floats(2, 4, 5)),
        *(
            rejects(f"twin_mask_of_one_{what}", f"Valid twin: a mask of rank 4 where there is one {what}")(
                sizes, mask=booleans(*sizes.mask)
            )
            for what, sizes in SINGLE.items()
        ),
        rejects("twin_grouped", "Valid twin: six query heads over two")(GROUPED, clauses="heads.grouped"),
        rejects("twin_grouped_mask", "Valid twin: a mask for each of six query heads over two")(
            GROUPED, mask=booleans(6, 4, 5)
        ),
        rejects("twin_past", "Valid twin: a past of three keys")(PAST, clauses="past.concatenation"),
        rejects("twin_past_mask", "Valid twin: a mask over past and new keys")(PAST, mask=booleans(4, 8)),
        rejects("twin_lengths", "Valid twin: lengths of keys and queries")(
            SIZES, key_lengths=[5, 2, 3], query_lengths=[4, 1, 3]
        ),
    )


def drawn(counterpart: str) -> dict[str, Any]:
    """Return the inputs of a counterpart, to be changed."""
    return {name: array for case in counterparts() if case.id == counterpart for name, array in case.inputs.items()}


@headed
def refused(
    name: str,
    title: str,
    clause: str,
    counterpart: str,
    inputs: Mapping[str, NDArray[Any]],
    *,
    reason: str,
    convention: tuple[str, str] | None = None,
    report: str | None = None,
    operation: str = "scaled_dot_product_attention",
    attributes: Mapping[str, Any] | None = None,
) -> AuthoredCase:
    """Make a case that must be refused: the inputs of its counterpart with some replaced."""
    first = OPERATIONS[operation].outputs[0]
    return AuthoredCase(
        id=f"rejects/{name}",
        title=title,
        operation=operation,
        clauses=(clause,),
        source=made_for("rejects") if report is None else reported(report),
        inputs=inputs,
        attributes=attributes or {},
        outputs=(first,),
        dtypes=EVERY_DTYPE,
        rejects=Rejects(reason, counterpart, convention),
    )


def of_new_shape(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw a tensor whose shape does not fit."""
    return grid(f"rejects/{name}", shape)
