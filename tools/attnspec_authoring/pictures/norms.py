"""Pictures of norms: what a token is divided by and multiplied by, and the order beside a rotation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import attnspec_reference as reference
from attnspec_authoring.pictures.drawing import angles, heat_map, picture


def rms_norm() -> str:
    """Draw the token of the example with its squares, normalized, and multiplied by its weights."""
    x, weight = np.array([[1.0, 7.0]]), np.array([2.0, 0.5])
    normalized = reference.rms_norm(x, np.ones(2), epsilon=0.0)
    offsets = {offset: reference.rms_norm(x, weight, epsilon=0.0, weight_offset=offset) for offset in ("zero", "one")}
    return picture(
        "A token of two features, its squares with the mean 25, the token divided by 5, and times its weights",
        heat_map("x, squares", np.concatenate([x, x * x]), rows=["x", "x²"], digits=0),
        heat_map("normalized", normalized, digits=1),
        heat_map("output", np.concatenate(list(offsets.values())), rows=list(offsets), digits=1),
    )


def qk_norm() -> str:
    """Draw the pair of the example, normalized and rotated, and in the other order."""
    x, weight, one = np.array([[[[3.0, 4.0]]]]), np.array([2.0, 1.0]), np.ones(2)
    tables = np.array([[[0.0]]]), np.array([[[1.0]]])
    turned = reference.apply_rotary(x, *tables)
    steps = {
        "normalized": reference.qk_norm(x, x, weight, one, epsilon=3.5),
        "then rotated": reference.qk_norm(x, x, weight, one, *tables, epsilon=3.5),
        "rotated first": reference.qk_norm(turned, x, weight, one, epsilon=3.5),
    }
    queries = {name: step.query_output[0, 0, 0] for name, step in steps.items()}
    before, right, wrong = ((float(query[0]), float(query[1])) for query in queries.values())
    return picture(
        "A query that is normalized and then turned by a right angle; rotated first, it comes out elsewhere",
        heat_map("query", np.stack([x[0, 0, 0], *queries.values()]), rows=["query", *queries]),
        angles("from the normalized one", [("then rotated", [before, right]), ("rotated first", [before, wrong])]),
    )


PICTURES: Mapping[str, Callable[[], str]] = {draw.__name__: draw for draw in (rms_norm, qk_norm)}
"""Operation to what draws its picture."""
