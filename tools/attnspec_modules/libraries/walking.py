"""Attributes of objects inside objects, by the names that lead to them: where a layer keeps what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attnspec_modules.libraries.kinds import attributes_of, is_dict, is_listed

_DEEPEST = 5
"""Attributes of attributes: a layer holds lists of heads, which hold layers, which hold variables."""

_KEPT_TWICE = (
    *("_layers", "_trainable_variables", "_non_trainable_variables", "_metrics", "_losses", "_tracker"),
    *("_modules", "_parameters", "_buffers", "_torch_params"),
)
"""What Keras, and PyTorch below it, keep beside the attributes themselves."""


def walked(
    root: object, is_leaf: Callable[[Any], bool], is_node: Callable[[Any], bool]
) -> Iterator[tuple[str, Any, str, Any]]:
    """Give path, holder, attribute and value of each leaf, once; `holder` is an object, a list or a dict."""
    seen: set[int] = set()

    def visit(path: tuple[str, ...], holder: Any) -> Iterator[tuple[str, Any, str, Any]]:
        for name, value in _entries(holder):
            if id(value) in seen:
                continue
            if is_leaf(value):
                seen.add(id(value))
                yield ".".join((*path, name.lstrip("_"))), holder, name, value
            elif len(path) < _DEEPEST and (is_listed(value) or is_dict(value) or is_node(value)):
                seen.add(id(value))
                yield from visit((*path, name.lstrip("_")), value)

    yield from visit((), root)


def _entries(holder: Any) -> list[tuple[str, Any]]:
    if is_dict(holder):
        return [(str(name), value) for name, value in holder.items()]
    if is_listed(holder):
        return [(str(number), value) for number, value in enumerate(holder)]
    if not hasattr(holder, "__dict__"):
        return []
    # A Keras layer on PyTorch keeps its layers as PyTorch does.
    attributes = attributes_of(holder) | attributes_of(holder).get("_modules", {})
    entries = [(name, value) for name, value in attributes.items() if name not in _KEPT_TWICE]
    # What a layer shows by a plain name comes before what it keeps beside it.
    return sorted(entries, key=lambda entry: entry[0].startswith("_"))
