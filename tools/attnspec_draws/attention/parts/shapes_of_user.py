"""From the shapes of tensors, as a user names them, to the axes of a drawn case."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_RANK = 4
_FEW = 2
_AT_SHAPES = ("scaled_dot_product_attention", "scaled_dot_product_attention_backward", "merge_states")
"""The operations that are asked for at the shapes of a user."""


def extents_of(operation: str, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, int]:
    """Return axis to length, as the case generator calls its axes, from the shape of every required input.

    `ValueError`, whose message is a clause of a sentence, where the shapes do not fit or the operation is not drawn so.
    """
    if operation not in _AT_SHAPES:
        raise ValueError(f"cases of {operation} are not drawn at given shapes; those of {', '.join(_AT_SHAPES)} are")
    if operation == "merge_states":
        batch, heads, queries, width = _of_rank_4("output_a", shapes)
        return {"batch": batch, "heads": heads, "queries": queries, "width": width}
    batch, heads, queries, width = _of_rank_4("query", shapes)
    of_keys, shared, keys, of_key = _of_rank_4("key", shapes)
    *beside, value_width = _of_rank_4("value", shapes)
    if (of_keys, of_key) != (batch, width) or beside != [batch, shared, keys]:
        raise ValueError("query, key and value do not belong together: their batch entries, heads or tokens differ")
    if not shared or heads % shared:
        raise ValueError(f"{heads} query heads are no multiple of {shared} key heads")
    past = shapes["past_key"][2] if len(shapes.get("past_key", ())) == _RANK else 0
    return {
        "batch": batch,
        "shared": shared,
        "group": heads // shared,
        "queries": queries,
        "keys": keys,
        "width": width,
        "value_width": value_width,
        "past": past,
    }


def with_few_heads(operation: str, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of the same call with one batch entry, and at most two key heads of two query heads each.

    `ValueError` where the shapes do not fit each other.
    """
    extents = extents_of(operation, shapes)
    if operation == "merge_states":
        return {name: (min(shape[0], 1), min(shape[1], _FEW), *shape[2:]) for name, shape in shapes.items()}
    shared, group = min(extents["shared"], _FEW), min(extents["group"], _FEW)
    # The axis of heads has as many as there are query heads in the tensors of queries, and key heads in the others.
    heads = {extents["shared"]: shared}
    of_queries = {"query", "grad_output", "output", "logsumexp", "grad_logsumexp"}
    return {
        name: (min(shape[0], 1), shared * group if name in of_queries else heads[shape[1]], *shape[2:])
        for name, shape in shapes.items()
    }


def _of_rank_4(name: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, int, int, int]:
    shape = shapes.get(name)
    if shape is None:
        raise ValueError(f"the shape of {name} is missing")
    if len(shape) != _RANK:
        raise ValueError(f"{name} has {len(shape)} axes, and not batch entries, heads, tokens and features")
    return shape[0], shape[1], shape[2], shape[3]
