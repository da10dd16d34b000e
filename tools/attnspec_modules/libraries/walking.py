"""Attributes of objects inside objects, by the names that lead to them: where a layer keeps what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
            elif len(path) < _DEEPEST and (isinstance(value, list | tuple | dict) or is_node(value)):
                seen.add(id(value))
                yield from visit((*path, name.lstrip("_")), value)

    yield from visit((), root)


def _entries(holder: Any) -> list[tuple[str, Any]]:
    if isinstance(holder, Mapping):
        return [(str(name), value) for name, value in holder.items()]
    if isinstance(holder, list | tuple):
        return [(str(number), value) for number, value in enumerate(holder)]
    try:
        attributes = vars(holder)
    except TypeError:
        return []
    entries = [(name, value) for name, value in attributes.items() if name not in _KEPT_TWICE]
    # What a layer shows by a plain name comes before what it keeps beside it.
    return sorted(entries, key=lambda entry: entry[0].startswith("_"))
