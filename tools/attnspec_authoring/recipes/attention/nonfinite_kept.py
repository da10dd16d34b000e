"""NaN and infinities that are kept: in keys and values that are given back, and among keys that are taken in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

PRESENT = ("output", "present_key", "present_value")
CLAUSES = ("sdpa.past.present",)
NUMBERS = {
    "nan": ("NaN", float("nan")),
    "infinity": ("Infinity", float("inf")),
    "minus_infinity": ("Minus infinity", -float("inf")),
}


def holding(case_id: str, sizes: Sizes, names: tuple[str, ...], number: float) -> dict[str, Any]:
    """Draw tensors and put a number into the second token of some of them."""
    tensors = sizes.drawn(case_id)
    for name in names:
        tensors[name][:, :, 1, 0] = number
    return tensors


def kept_cases() -> tuple[AuthoredCase, ...]:
    """Return such keys and values, attended and hidden, new ones and past ones."""
    without, past = Sizes(1, 2, 1, 4, 5), Sizes(1, 2, 1, 4, 5, past=3)
    hides: dict[str, Any] = {"mask": np.arange(5) != 1}
    hides_past: dict[str, Any] = {"mask": np.arange(8) % 3 != 1}
    made: list[AuthoredCase] = []
    for kind, (what, number) in NUMBERS.items():
        places: tuple[tuple[str, Sizes, tuple[str, ...], dict[str, Any]], ...] = (
            ("values", without, ("value",), {}),
            ("hidden keys and values", without, ("key", "value"), hides),
            ("past values", past, ("past_value",), {}),
            ("new values after a past", past, ("value",), {}),
            ("hidden past keys and values", past, ("past_key", "past_value"), hides_past),
        )
        for where, sizes, names, mask in places:
            case_id = f"nonfinite/present_{kind}_in_{where.replace(' ', '_')}"
            tensors = holding(case_id, sizes, names, number)
            shown: dict[str, Any] = {name: np.broadcast_to(array, (4, array.size)) for name, array in mask.items()}
            title = f"{what} in {where}, which are given back"
            made.append(attention(case_id, title)(sizes, clauses=CLAUSES, outputs=PRESENT, **tensors, **shown))
    return tuple(made)


def many_keys_cases() -> tuple[AuthoredCase, ...]:
    """Return NaN among so many keys that they are taken in parts, for one query and for three."""
    made: list[AuthoredCase] = []
    for queries, keys in ((1, 21), (1, 131), (3, 67)):
        for name in ("key", "value"):
            sizes = Sizes(2, 4, 1, queries, keys)
            case_id = f"nonfinite/nan_in_{name}_of_{keys}_keys"
            tensors = sizes.drawn(case_id)
            tensors[name][0, 0, keys // 2, 1] = float("nan")
            made.append(
                attention(case_id, f"NaN in one of {keys} {name}s that every query may attend, of {queries} queries")(
                    sizes, clauses=("sdpa.nonfinite_input",), **tensors
                )
            )
    return tuple(made)
