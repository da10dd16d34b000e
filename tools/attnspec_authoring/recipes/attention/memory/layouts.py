"""Memory layouts of the inputs of attention, sections of one array among them, and of several sequences.

Code that takes inputs with memory in common for one tensor, or a section for the whole, goes wrong here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_CAUSAL,
    Sizes,
    attention,
    boolean_mask,
    booleans,
    float_mask,
    floats,
    profile,
)
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.attention.memory.calls import BIASES, MEMORY, WEIGHTS, joined, listed
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

memory = profile("memory")

SIZES = Sizes(1, 2, 2, 4, 5)
BATCH = Sizes(3, 2, 2, 4, 5)
LAYOUTS = {
    "fortran": "lies in memory with its first axis first",
    "heads_last": "lies in memory with tokens before heads",
    "heads_last_gapped": "lies in memory with the heads of a token side by side and gaps between tokens",
    "reversed": "runs backwards through memory",
    "gapped": "has gaps in memory",
    "broadcast": "is one batch entry that stands for all",
    "readonly": "cannot be written to",
    "prefix": "is the beginning of a longer array",
}
TENSORS: tuple[str, ...] = ("query", "key", "value", "mask")
REPORTS = {
    ("heads_last", "query"): "pytorch/pytorch/issues/181133",
    ("gapped", "mask"): "facebookresearch/xformers/issues/788",
    ("gapped", "value"): "pytorch/pytorch/issues/163597",
    ("readonly", "mask"): "deepspeedai/DeepSpeed/pull/1913",
}


def same_for_every_entry(tensor: NDArray[Any]) -> NDArray[Any]:
    """Repeat the first batch entry."""
    return np.broadcast_to(tensor[:1], tensor.shape)


def sizes_for(memory_order: dict[str, str]) -> Sizes:
    """Return three batch entries where one is to stand for all or they lie apart, else a single one."""
    return SIZES if {"broadcast", "prefix"}.isdisjoint(memory_order.values()) else BATCH


def laid_out(case_id: str, memory_order: dict[str, str]) -> dict[str, Any]:
    """Draw inputs and a float mask, repeating the first batch entry where the memory order needs it."""
    sizes = sizes_for(memory_order)
    tensors: dict[str, Any] = {**sizes.drawn(case_id), "mask": float_mask(case_id, sizes.mask)}
    return {
        name: same_for_every_entry(tensor) if memory_order.get(name) == "broadcast" else tensor
        for name, tensor in tensors.items()
    }


def layout_cases() -> Iterator[AuthoredCase]:
    """Hold every layout of every tensor by itself, and of all together."""
    for layout, what in LAYOUTS.items():
        clauses = ("sdpa.memory_layout", *(("sdpa.inputs_unchanged",) if layout == "readonly" else ()))
        for tensor in TENSORS:
            case_id = f"memory/{layout}_{tensor}"
            memory_order = {tensor: layout}
            tensors = laid_out(case_id, memory_order)
            if tensor != "mask":
                del tensors["mask"]
            yield attention(case_id, f"The {tensor} {what}")(
                sizes_for(memory_order),
                clauses=clauses,
                report=REPORTS.get((layout, tensor)),
                memory_order=memory_order,
                **tensors,
            )
        together: dict[str, str] = dict.fromkeys(TENSORS, layout)
        case_id = f"memory/{layout}_everything"
        yield attention(case_id, f"Each of query, key, value and mask {what}")(
            sizes_for(together), clauses=clauses, memory_order=together, **laid_out(case_id, together)
        )


def combined_cases() -> tuple[AuthoredCase, ...]:
    """Put layouts together with grouped heads, a past, lengths and a Boolean mask."""
    past = Sizes(1, 2, 2, 4, 4, past=3)
    mixed = {"query": "heads_last", "key": "gapped", "value": "reversed", "mask": "fortran"}
    grouped = Sizes(1, 6, 2, 4, 5)
    only_head = Sizes(1, 2, 1, 2, 3, 2)
    long = Sizes(3, 2, 1, 4, 33, 1)
    repeated = long.drawn("memory/broadcast_33_keys")
    numbers = grid("memory/same_numbers", (36,))
    return (
        *(
            memory(f"same_numbers_{heads}_heads", f"The numbers of the case beside it, in {heads} heads")(
                sizes,
                clauses="repeatable",
                query=numbers[:12].reshape(sizes.shapes()["query"]),
                key=numbers[:24].reshape(sizes.shapes()["key"]),
                value=numbers[12:].reshape(sizes.shapes()["value"]),
            )
            for heads, sizes in ((2, Sizes(1, 2, 2, 3, 6, 2)), (3, Sizes(1, 3, 3, 2, 4, 2)))
        ),
        memory("mixed", "Each input lies in memory in its own way, the key of the only key head with gaps")(
            only_head, report="NVIDIA/TransformerEngine/issues/1195", memory_order=mixed, mask=floats(*only_head.mask)
        ),
        memory("grouped_heads_last", "Grouped heads, with tokens before heads in memory")(
            grouped,
            clauses="memory_layout heads.grouped",
            report="PrimeIntellect-ai/prime-rl/pull/2681",
            memory_order={"query": "heads_last", "key": "heads_last", "value": "heads_last"},
        ),
        memory("past_readonly", "A past that cannot be written to")(
            past,
            clauses="inputs_unchanged",
            also="present_key present_value",
            memory_order={"past_key": "readonly", "past_value": "readonly"},
        ),
        memory("past_gapped", "A past with gaps in memory")(
            past,
            clauses="memory_layout",
            is_causal=True,
            memory_order={"past_key": "gapped", "past_value": "heads_last"},
        ),
        memory("boolean_mask_gapped", "A Boolean mask with gaps in memory")(
            BATCH, clauses="memory_layout", mask=booleans(3, 1, 4, 5), memory_order={"mask": "gapped"}
        ),
        memory("boolean_mask_reversed", "A Boolean mask of rank 2 that runs backwards through memory")(
            SIZES, clauses="memory_layout", mask=booleans(4, 5), memory_order={"mask": "reversed"}
        ),
        memory(
            "broadcast_33_keys", "Thirty-three keys and values that are one batch entry standing for all, under a mask"
        )(
            long,
            clauses="memory_layout mask.additive",
            report="pytorch/pytorch/issues/191937",
            mask=floats(1, 33),
            key=same_for_every_entry(repeated["key"]),
            value=same_for_every_entry(repeated["value"]),
            memory_order={"key": "broadcast", "value": "broadcast"},
        ),
        memory("lengths_readonly", "Lengths and sinks that cannot be written to")(
            BATCH,
            clauses="inputs_unchanged",
            key_lengths=[5, 2, 3],
            sinks=[0.5, -1.0],
            memory_order={"key_lengths": "readonly", "sinks": "readonly"},
        ),
        memory("values_wider_fortran", "Values wider than the keys, with their first axis first in memory")(
            Sizes(1, 2, 2, 4, 5, 3, 7), clauses="memory_layout", memory_order={"value": "fortran"}
        ),
        memory("wide_rows_reversed", "Sixteen features that run backwards through memory")(
            Sizes(1, 2, 2, 3, 4, 16),
            clauses="memory_layout",
            memory_order={"query": "reversed", "key": "reversed", "value": "reversed"},
        ),
    )


def repeated_cases() -> tuple[AuthoredCase, ...]:
    """Hold the same shapes with one thing changed each: whoever keeps an answer or a plan by shape is found out."""
    shape = Sizes(1, 2, 2, 5, 5)
    changed: tuple[tuple[str, dict[str, Any], str | None, ChangedArgument | None], ...] = (
        ("nothing", {}, None, ChangedArgument("value", reversed=True)),
        ("the scale", {"scale": 1.5}, "openvinotoolkit/openvino/pull/31365", ChangedArgument("scale", 0.5)),
        ("causality", {"is_causal": True}, None, ChangedArgument("is_causal", False)),
        ("the softcap", {"softcap": 1.0}, "sgl-project/sglang/pull/34093", ChangedArgument("softcap", 2.0)),
        ("the window", {"window": [1, 1]}, None, ChangedArgument("window", [2, 0])),
        (
            "the mask",
            {"mask": boolean_mask("memory/repeated", (5, 5))},
            "flashinfer-ai/flashinfer/pull/4270",
            ChangedArgument("mask", reversed=True),
        ),
        (
            "the mask's values",
            {"mask": boolean_mask("memory/repeated again", (5, 5))},
            "NVIDIA/cudnn-frontend/pull/993",
            None,
        ),
        ("the sinks", {"sinks": np.array([1.0, -1.0])}, None, ChangedArgument("sinks", reversed=True)),
    )
    return tuple(
        memory(
            f"repeated_{what.replace(' ', '_').replace(chr(39), '')}",
            f"Equal shapes and inputs, with another choice of {what}"
            if arguments
            else "Inputs that other cases repeat",
        )(
            shape,
            clauses="repeatable",
            report=report,
            drawn_as="memory/repeated",
            changed_argument=changed_argument,
            revision=2 if changed_argument else 1,
            **arguments,
        )
        for what, arguments, report, changed_argument in changed
    )


_TOKENS = ("query", "key", "value")


def _fused(names: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(names, "fused")


def attention_cases() -> tuple[AuthoredCase, ...]:
    """Fuse tokens of equal and of other widths, grouped heads, a past, and what there is for each head."""
    case = table(memory, clauses="memory_layout")
    square, wider, grouped = Sizes(1, 2, 2, 5, 5), Sizes(2, 1, 1, 5, 5, 3, 4), Sizes(1, 6, 2, 4, 5)
    after_past = Sizes(1, 2, 2, 3, 4, past=5)
    of_past = ("past_key", "past_value")
    return (
        *(
            case(f"fused_{joined(names)}", f"{listed(names).capitalize()} are sections of one array")(
                square, memory_order=_fused(names)
            )
            for names in (_TOKENS, _TOKENS[:2], _TOKENS[1:], _TOKENS[::2])
        ),
        case("fused_wider_values", "Query, key and wider values are sections of one array, under causality")(
            wider, is_causal=True, memory_order=_fused(_TOKENS)
        ),
        memory("fused_grouped", "Keys and values of grouped heads are sections of one array, under a mask")(
            grouped, clauses="memory_layout heads.grouped", mask=floats(*grouped.mask), memory_order=_fused(_TOKENS[1:])
        ),
        case("fused_past", "Past keys and values are sections of one array, and so are new ones")(
            after_past, also="present_key present_value", memory_order=_fused((*_TOKENS[1:], *of_past))
        ),
        case("fused_for_each_head", "Sinks and slopes are sections of one array")(
            Sizes(1, 2, 1, 4, 4),
            sinks=[0.5, -1.0],
            alibi_slopes=[0.5, 0.25],
            memory_order=_fused(("sinks", "alibi_slopes")),
        ),
    )


def projecting_cases() -> tuple[AuthoredCase, ...]:
    """Fuse tokens, weight matrices and biases of layers."""
    lengths, several = (2, 4, 4), "are sections of one array"
    return (
        *(
            multi_head(f"fused_{joined(names)}", f"{listed(names)} {several}")(
                lengths, profile=MEMORY, biases=BIASES, memory_order=_fused(names)
            )
            for names in (_TOKENS, _TOKENS[1:], WEIGHTS[:3], WEIGHTS, BIASES)
        ),
        *(
            single_head(f"fused_{joined(names)}", f"{listed(names)} {several}")(
                4, (4, 3, 2, None), profile=MEMORY, memory_order=_fused(names)
            )
            for names in (WEIGHTS[:3], WEIGHTS[1:3], ("x", "w_query"))
        ),
    )


CLAUSES = ("sdpa.memory_layout", "sdpa.key_lengths.exclusion")
KEYS = {
    "fortran": "first axis first in memory",
    "heads_last": "tokens before heads in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "readonly": "where nobody may write",
    "prefix": "at the beginning of longer arrays",
}
LENGTHS = ("reversed", "gapped", "inside", "readonly")


def sequences_cases() -> tuple[AuthoredCase, ...]:
    """Return keys and values of sequences in every layout, and lengths in each that they can have."""
    sizes = (Sizes(3, 4, 2, 1, 14, 2), Sizes(4, 2, 2, 1, 9, 1), Sizes(2, 2, 2, 1, 29, 1))
    lengths = ([14, 5, 9], [2, 9, 0, 6], [17, 29])
    return (
        *(
            memory(f"{layout}_sequences_of_{of.keys}", f"Keys and values of {of.batch} sequences lie {how}")(
                of, clauses=CLAUSES, memory_order=dict.fromkeys(("key", "value"), layout), key_lengths=own
            )
            for layout, how in KEYS.items()
            for of, own in zip(sizes, lengths, strict=True)
            if layout in ("fortran", "inside") or of.keys == 14
        ),
        *(
            memory(
                f"{layout}_lengths_of_sequences", f"Lengths of queries and keys of three sequences lie {KEYS[layout]}"
            )(
                Sizes(3, 2, 1, 2, 13, 1),
                clauses=CLAUSES,
                memory_order=dict.fromkeys(("key_lengths", "query_lengths"), layout),
                key_lengths=[13, 4, 7],
                query_lengths=[1, 2, 1],
                **BOTTOM_CAUSAL,
            )
            for layout in LENGTHS
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *layout_cases(),
        *combined_cases(),
        *repeated_cases(),
        *attention_cases(),
        *projecting_cases(),
        *sequences_cases(),
    )
