"""Latents, queries and matrices that do not fit together: each is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.latent.latents import ABSORBED, NAIVE, Latents, latents
from attnspec_authoring.recipes.authoring import Rejects, row
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

STRICT = ("input_checks", "strict")

ROWS: tuple[tuple[str, str, str, str, dict[str, tuple[int, ...]], bool], ...] = (
    row("latents_of_heads", "latents with an axis of heads")(NAIVE, "rank", {"latent": (2, 2, 3, 3)}, True),
    row("one_batch", "latents of one batch entry for queries of two")(
        NAIVE, "batch", {"latent": (1, 3, 3), "key_rotary": (1, 3, 1)}, True
    ),
    row("one_matrix", "one matrix of keys for two heads")(NAIVE, "heads", {"w_key": (1, 3, 2)}, False),
    row("one_matrix_of_values", "one matrix of values for two heads")(NAIVE, "heads", {"w_value": (1, 3, 2)}, False),
    row("wide_matrix", "matrices of values for wider latents")(NAIVE, "width", {"w_value": (2, 4, 2)}, False),
    row("rotated_width", "rotated keys of another width than the queries")(
        NAIVE, "width", {"key_rotary": (2, 3, 2)}, False
    ),
    row("rotated_tokens", "more rotated keys than latents")(NAIVE, "length", {"key_rotary": (2, 4, 1)}, False),
    row("absorbed_latents_of_heads", "latents with an axis of heads")(ABSORBED, "rank", {"latent": (2, 2, 3, 3)}, True),
    row("absorbed_one_batch", "latents of one batch entry for queries of two")(
        ABSORBED, "batch", {"latent": (1, 3, 3), "key_rotary": (1, 3, 1)}, True
    ),
    row("absorbed_width", "queries that are wider than the latents")(
        ABSORBED, "width", {"query_latent": (2, 2, 2, 4)}, False
    ),
    row("absorbed_rotated_tokens", "more rotated keys than latents")(
        ABSORBED, "length", {"key_rotary": (2, 4, 1)}, False
    ),
)
"""Name, title, operation, clause, the shapes that do not fit, and whether strict checks alone refuse them."""


def cases() -> Iterator[AuthoredCase]:
    """Return the cases that are refused."""
    for name, title, of, clause, shapes, strict in ROWS:
        replaced: dict[str, Any] = {
            tensor: grid(f"latent/rejects_{name}/{tensor}", shape) for tensor, shape in shapes.items()
        }
        counterpart = f"latent/{'naive' if of == NAIVE else 'absorbed'}_plain"
        yield latents(f"rejects_{name}", title)(
            Latents(),
            of,
            clauses=f"rejects.{clause}",
            replaced=replaced,
            dtypes=("float64", "float32"),
            rejects=Rejects(f"{title[0].upper()}{title[1:]} do not fit.", counterpart, STRICT if strict else None),
        )
    one_token = Latents(batch=1, queries=1, keys=1, latent=1, content=1, value=1)
    matrices = {name: grid(f"latent/rejects_one_head/{name}", (1, 1, 1)) for name in ("w_key", "w_value")}
    yield latents("rejects_one_head", "matrices of one head for two")(
        one_token,
        clauses="rejects.heads",
        replaced=matrices,
        dtypes=("float64", "float32"),
        rejects=Rejects("Two heads need two matrices each.", "latent/naive_plain"),
    )
    for of in (NAIVE, ABSORBED):
        plain = "naive_plain" if of == NAIVE else "absorbed_plain"
        yield latents(f"rejects_{of}_length", "a length beyond the tokens")(
            Latents(),
            of,
            clauses="rejects.length",
            replaced={"key_lengths": np.array([3, 4], dtype=np.int64)},
            dtypes=("float64", "float32"),
            rejects=Rejects("A length is larger than the number of tokens.", f"latent/{plain}"),
        )
