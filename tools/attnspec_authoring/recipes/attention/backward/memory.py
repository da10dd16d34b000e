"""Memory layouts of what goes in, each tensor alone and several together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import Sizes, boolean_mask, booleans, float_mask, floats
from attnspec_authoring.recipes.attention.backward.gradients import (
    BATCH,
    GROUPED,
    PLAIN,
    SQUARE,
    STORED,
    drawn,
    gradients,
    of_logsumexp,
)
from attnspec_authoring.recipes.attention.memory import calls
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

MATRICES = ("grad_output", "query", "key", "value")
LAYOUTS = {
    "fortran": "with the first axis first in memory",
    "heads_last": "behind the tokens in memory",
    "heads_last_gapped": "with the heads of a token side by side in memory and gaps between tokens",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "readonly": "in memory that cannot be written to",
    "prefix": "at the beginning of longer arrays",
}
_LAYOUT = ("memory_layout",)


def layout_cases() -> Iterator[AuthoredCase]:
    """Every layout of the gradient of the output, and of all inputs together."""
    for layout, how in LAYOUTS.items():
        name = f"{layout}_everything"
        stored: dict[str, Any] = {"mask": float_mask(f"backward/{name}", (1, 1, 4, 5)), "derived": STORED}
        every = (*MATRICES, "mask", *(() if layout.startswith("heads_last") else ("logsumexp",)), "output")
        yield from (
            gradients(f"{layout}_grad_output", f"The gradient of the output lies {how}")(
                PLAIN, clauses=_LAYOUT, memory_order={"grad_output": layout}
            ),
            gradients(name, f"All inputs lie {how}")(
                PLAIN, clauses=_LAYOUT, memory_order=dict.fromkeys(every, layout), **stored
            ),
        )


_GIVEN = ", and both results are given"
_TOKENS, _FEATURES = "tokens_broadcast", "features_broadcast"
_WIDE = Sizes(1, 2, 2, 4, 5, 3, 3)
GROUPED_WIDE = Sizes(2, 6, 2, 4, 3, 1, 2)
REPEATED: tuple[tuple[str, str, str, str, Sizes, tuple[int, ...], tuple[int, ...], tuple[str, ...], str], ...] = (
    (_TOKENS, "query", "grad_output", "gradients", PLAIN, (1, 2, 1, 2), (1, 2, 4, 2), (), ""),
    (_FEATURES, "feature", "grad_output", "gradients", _WIDE, (1, 2, 4, 1), (1, 2, 4, 3), (), ""),
    (_TOKENS, "query", "query", "queries", PLAIN, (1, 2, 1, 2), (1, 2, 4, 2), STORED, _GIVEN),
    (_FEATURES, "feature", "query", "queries", _WIDE, (1, 2, 4, 1), (1, 2, 4, 3), (), ""),
    (_TOKENS, "key", "key", "keys", PLAIN, (1, 2, 1, 2), (1, 2, 5, 2), (), ""),
    (_FEATURES, "feature", "key", "keys", _WIDE, (1, 2, 5, 1), (1, 2, 5, 3), (), ""),
    (_TOKENS, "key", "value", "values", PLAIN, (1, 2, 1, 2), (1, 2, 5, 2), (), ""),
    (_FEATURES, "feature", "value", "numbers", _WIDE, (1, 2, 5, 1), (1, 2, 5, 3), STORED, _GIVEN),
)
"""One query, key or feature of an input that lies in memory once, though it is there for all of them."""


def repeated(seed: str, name: str, part: tuple[int, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    """Draw a part of an input, and repeat it."""
    return {name: np.broadcast_to(grid(seed, part), shape).copy()}


def repeated_cases() -> tuple[AuthoredCase, ...]:
    """One part of memory that stands for many."""
    case = table(gradients, clauses=_LAYOUT)
    shape = (3, 2, 4, 1)
    one_entry = np.broadcast_to(grid("backward/broadcast_grad_output/one", (1, *shape[1:])), shape).copy()
    one_head = np.broadcast_to(grid("backward/heads_broadcast_grad_output/one", (3, 1, *shape[2:])), shape).copy()
    keys = drawn("backward/heads_broadcast_keys", PLAIN)
    same: dict[str, Any] = {
        name: np.broadcast_to(keys[name][:, :1], keys[name].shape).copy() for name in ("key", "value")
    }
    return (
        case("one_number_grad_output", "One number stands for the whole gradient of the output, as that of a sum")(
            PLAIN, memory_order={"grad_output": "one_number"}, grad_output=np.ones((1, 2, 4, 2))
        ),
        case(
            "one_number_grad_output_stored",
            "One number stands for the whole gradient of the output, in six heads over two, and both are given",
        )(GROUPED, derived=STORED, memory_order={"grad_output": "one_number"}, grad_output=np.full((1, 6, 4, 1), 0.25)),
        case("one_number_grad_logsumexp", "One number stands for the whole gradient of the logsumexp")(
            PLAIN, memory_order={"grad_logsumexp": "one_number"}, grad_logsumexp=np.ones((1, 2, 4))
        ),
        case("broadcast_grad_output", "The gradient of one batch entry stands for those of all")(
            BATCH, memory_order={"grad_output": "broadcast"}, grad_output=one_entry
        ),
        case("heads_broadcast_grad_output", "The gradient of one head stands for those of all")(
            BATCH, memory_order={"grad_output": "heads_broadcast"}, grad_output=one_head
        ),
        *(
            case(f"{layout}_{name}", f"In memory the {what} of one {one} stand for those of all{beside}")(
                sizes,
                derived=derived,
                memory_order={name: layout},
                **repeated(f"backward/{layout}_{name}/one", name, part, shape),
            )
            for layout, one, name, what, sizes, part, shape, derived, beside in REPEATED
        ),
        case(
            "features_broadcast_gradients_of_heads",
            "The gradient of one feature stands for those of all in memory, in six heads over two",
        )(
            GROUPED_WIDE,
            memory_order={"grad_output": _FEATURES},
            **repeated("backward/features_broadcast_gradients_of_heads/one", "grad_output", (2, 6, 4, 1), (2, 6, 4, 2)),
        ),
        case("fortran_mask", "The mask lies with its first axis first in memory")(
            PLAIN, memory_order={"mask": "fortran"}, mask=booleans(2, 4, 5)
        ),
        case("gapped_mask", "The mask lies with gaps in memory")(
            PLAIN, memory_order={"mask": "gapped"}, mask=floats(4, 5)
        ),
        case("heads_broadcast_keys", "One key head and one value head stand for all")(
            PLAIN, memory_order=dict.fromkeys(("key", "value"), "heads_broadcast"), **same
        ),
    )


def shared_cases() -> tuple[AuthoredCase, ...]:
    """One array several times, and arrays that cannot be written to."""
    sizes = Sizes(1, 2, 2, 5, 5, 3)
    one = grid("backward/one_array/all", (1, 2, 5, 3))
    tensors: dict[str, Any] = dict.fromkeys(MATRICES, one)
    return (
        gradients("one_array", "Gradient, query, key and value are one array")(
            sizes, clauses="inputs_unchanged", memory_order=dict.fromkeys(MATRICES, "shared"), **tensors
        ),
        *(
            gradients(f"fused_{name}", f"{what} are sections of one array")(
                sizes,
                clauses=_LAYOUT,
                memory_order=dict.fromkeys(names, "fused"),
                derived=STORED if "output" in names else (),
            )
            for name, what, names in (
                ("tokens", "Query, key and value", MATRICES[1:]),
                ("keys_and_values", "Key and value", MATRICES[2:]),
                ("outputs", "Output and its gradient", ("grad_output", "output")),
                ("everything", "Gradient, query, key and value", MATRICES),
            )
        ),
        gradients("readonly_lengths", "Lengths, sinks and slopes cannot be written to")(
            BATCH,
            clauses="inputs_unchanged",
            causal_alignment="bottom_right",
            key_lengths=[5, 2, 3],
            query_lengths=[4, 1, 3],
            sinks=[0.5, -1.25],
            alibi_slopes=[0.25, 1.5],
            memory_order=dict.fromkeys(("key_lengths", "query_lengths", "sinks", "alibi_slopes"), "readonly"),
        ),
    )


def changed_cases() -> tuple[AuthoredCase, ...]:
    """One argument changed, all others the same objects."""
    name = "backward/changed_mask"
    turned: tuple[tuple[str, str, dict[str, Any]], ...] = (
        *((tensor, f"the {tensor.replace('_', ' ')}", {}) for tensor in MATRICES),
        ("mask", "the mask", {"mask": boolean_mask(name, (4, 5))}),
        ("sinks", "the sinks", {"sinks": [3.0, -2.5]}),
        ("alibi_slopes", "the slopes", {"alibi_slopes": [2.0, 0.125], "causal_alignment": "top_left"}),
        ("key_lengths", "the key lengths", {"key_lengths": np.array([5, 2, 4])}),
        ("query_lengths", "the query lengths", {"query_lengths": np.array([4, 1, 3])}),
        ("grad_logsumexp", "the gradient of the logsumexp", {"grad_logsumexp": of_logsumexp("changed", PLAIN)}),
    )
    return (
        *(
            gradients(f"changed_{tensor}", f"The same again, with {what} turned around")(
                BATCH if tensor.endswith("_lengths") else PLAIN,
                clauses="repeatable",
                changed_argument=ChangedArgument(tensor, reversed=True),
                **arguments,
            )
            for tensor, what, arguments in turned
        ),
        gradients("changed_scale", "The same again, with another scale")(
            SQUARE, clauses="repeatable", changed_argument=ChangedArgument("scale", 1.5), scale=0.5
        ),
        gradients("changed_softcap", "The same again, with another softcap")(
            SQUARE, clauses="repeatable", changed_argument=ChangedArgument("softcap", 4.0), softcap=1.0
        ),
        gradients("changed_window", "The same again, with another window")(
            SQUARE, clauses="repeatable", changed_argument=ChangedArgument("window", [3, 0]), window=[1, 0]
        ),
        gradients("changed_causality", "The same again, without causality")(
            SQUARE, clauses="repeatable", changed_argument=ChangedArgument("is_causal", False), is_causal=True
        ),
        gradients("changed_alignment", "The same again, with the queries at the end of the keys")(
            PLAIN,
            clauses="repeatable",
            changed_argument=ChangedArgument("causal_alignment", "bottom_right"),
            is_causal=True,
            causal_alignment="top_left",
        ),
        *(
            gradients(f"changed_{name}", f"The same again, with another choice of {what}")(
                BATCH, clauses="repeatable", changed_argument=changed, **arguments
            )
            for name, what, arguments, changed in calls.CHANGES
        ),
    )


SIZES = Sizes(2, 4, 2, 2, 3, 2, 2)
ORDERS = ("fortran", "heads_last", "reversed", "gapped", "inside", "readonly")
TENSORS = ("grad_output", "query", "key", "value", "mask", "output")


def one_order_cases() -> Iterator[AuthoredCase]:
    """One input alone in another order; a gradient that is written through a copy is then lost."""
    for tensor in TENSORS:
        for order in ("fortran", "heads_last"):
            name = f"{order}_{tensor}_alone"
            arguments: dict[str, Any] = {"mask": float_mask(f"backward/{name}", (2, 4, 2, 3))}
            yield gradients(
                name,
                f"The {tensor} alone lies {order.replace('_', ' ')} in memory, in two entries, four heads over two",
            )(
                SIZES,
                clauses=_LAYOUT,
                memory_order={tensor: order},
                derived=STORED if tensor == "output" else (),
                **(arguments if tensor == "mask" else {}),
            )


def mixed_cases() -> Iterator[AuthoredCase]:
    """Each input in an order of its own, which moves on from case to case."""
    for turn in range(len(ORDERS)):
        name = f"orders_{turn}"
        shape = (2, 4, 2, 3)
        mask = (boolean_mask if turn % 2 else float_mask)(f"backward/{name}", shape)
        memory_order = {tensor: ORDERS[(turn + index) % len(ORDERS)] for index, tensor in enumerate(TENSORS)}
        # Those of three axes or fewer have no heads to put last.
        others = tuple(order for order in ORDERS if order != "heads_last")
        of_rows = ("grad_logsumexp", "logsumexp", "sinks", "alibi_slopes")
        memory_order |= {tensor: others[(turn + index) % len(others)] for index, tensor in enumerate(of_rows)}
        yield gradients(name, f"Each input lies in another order in memory, {turn + 1} of {len(ORDERS)}")(
            SIZES,
            clauses=_LAYOUT,
            derived=STORED,
            memory_order=memory_order,
            with_grad_logsumexp=True,
            mask=mask,
            sinks=[0.5, -1.0, 2.0, 0.25],
            alibi_slopes=[0.5, 0.25, 1.0, 0.125],
            causal_alignment="bottom_right" if turn % 2 else "top_left",
        )


def arranged_again_cases() -> Iterator[AuthoredCase]:
    """One part of memory for several entries, or for several heads, of every input that has them."""
    whole = drawn("backward/repeated", SIZES)
    for layout, what, axis in (("broadcast", "batch entry", 0), ("heads_broadcast", "head", 1)):
        for tensor in ("key", "value"):
            same = np.broadcast_to(np.take(whole[tensor], [0], axis=axis), whole[tensor].shape).copy()
            arguments: dict[str, Any] = {tensor: same}
            yield gradients(
                f"{layout}_{tensor}_alone",
                f"The {tensor.replace('_', ' ')} of one {what} stands for those of all in memory",
            )(SIZES, clauses=_LAYOUT, memory_order={tensor: layout}, **arguments)
        shape = (2, 4, 2, 3)
        mask = float_mask(f"backward/{layout}_mask_alone", (1, 4, 2, 3) if axis == 0 else (2, 1, 2, 3))
        yield gradients(
            f"{layout}_mask_alone",
            f"The float mask of one {what} stands for those of all in memory, and each has its own gradient",
        )(SIZES, clauses=_LAYOUT, memory_order={"mask": layout}, mask=np.broadcast_to(mask, shape).copy())


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *layout_cases(),
        *repeated_cases(),
        *shared_cases(),
        *changed_cases(),
        *one_order_cases(),
        *mixed_cases(),
        *arranged_again_cases(),
    )
