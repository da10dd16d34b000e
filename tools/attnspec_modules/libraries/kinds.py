"""Kinds of foreign values, of which nothing more is known than that they are lists, dicts or arrays."""

from typing import Any

import numpy as np


def is_dict(value: Any) -> bool:
    """Return whether it is a dict."""
    return isinstance(value, dict)


def is_listed(value: Any) -> bool:
    """Return whether it is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_array(value: Any) -> bool:
    """Return whether it is an array of NumPy."""
    return isinstance(value, np.ndarray)


def entries_of(returned: Any) -> list[Any]:
    """Return the entries of what a call returned: values of a dict, a list, or one thing alone."""
    if is_dict(returned):
        return list(returned.values())
    return list(returned) if is_listed(returned) else [returned]


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object or class, by name: those themselves, and no copy."""
    attributes: dict[str, Any] = value.__dict__
    return attributes
