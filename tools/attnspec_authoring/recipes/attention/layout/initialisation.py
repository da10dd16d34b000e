"""Random weight matrices to start from, graded by their properties."""

from __future__ import annotations

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.authoring import AuthoredCase

CLAUSES = ("shape", "mean", "standard_deviation", "distribution", "tails", "seed")


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of Glorot normal weights."""
    wide = {"fan_in": 32, "fan_out": 128}
    return (
        *(_from_zero(rows, columns) for rows, columns in ((72, 64), (48, 96))),
        *(_of_odd_size(rows, columns) for rows, columns in ((65, 65), (4097, 1), (1, 4099))),
        AuthoredCase(
            id="layout/glorot_normal_wide",
            title="Glorot normal weights of a 32x128 matrix, seed 1",
            operation="glorot_normal",
            clauses=tuple(f"glorot_normal.{clause}" for clause in CLAUSES),
            source=made_for("layout"),
            attributes={**wide, "seed": 1},
            dtypes=(),
            properties={"distribution": "normal", **wide},
            changed_argument=ChangedArgument("fan_out", 129),
            revision=2,
        ),
    )


def _of_odd_size(rows: int, columns: int) -> AuthoredCase:
    """Make a case of an odd number of elements, which what draws two at a time does not fill."""
    return _weights(f"odd_{rows}_{columns}", rows, columns, "an odd number of elements", 3, None)


def _from_zero(rows: int, columns: int) -> AuthoredCase:
    """Make a case of the seed 0, which is a number like any other."""
    return _weights(f"seed_zero_{rows}", rows, columns, "a seed of 0 is a seed", 0, ChangedArgument("seed", 1))


def _weights(
    name: str, rows: int, columns: int, about: str, seed: int, changed: ChangedArgument | None
) -> AuthoredCase:
    """Make a case of normal weights, which is about one thing."""
    shape = {"fan_in": rows, "fan_out": columns}
    return AuthoredCase(
        id=f"layout/glorot_normal_{name}",
        title=f"Glorot normal weights of a {rows}x{columns} matrix: {about}",
        operation="glorot_normal",
        clauses=tuple(f"glorot_normal.{clause}" for clause in CLAUSES),
        source=made_for("layout"),
        attributes={**shape, "seed": seed},
        dtypes=(),
        properties={"distribution": "normal", **shape},
        changed_argument=changed,
    )
