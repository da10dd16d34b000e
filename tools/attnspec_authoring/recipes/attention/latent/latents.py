"""How the profile makes a case of latent attention: sizes, drawn inputs, the clauses that follow from its features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attendance import attendance, conventions
from attnspec_authoring.recipes.attention.attention import drawn_by, made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed, reported
from attnspec_authoring.recipes.generator import grid, require_exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import ChangedArgument
    from attnspec_authoring.recipes.authoring import Rejects

NAIVE, ABSORBED = "latent", "absorbed"
OPERATIONS = {NAIVE: "latent_attention", ABSORBED: "absorbed_latent_attention"}
RESULTS = {NAIVE: "output", ABSORBED: "output_latent"}
BEYOND_FLOAT16 = 2.0**18
"""Makes tokens of which float16 holds few of drawn ones."""
TOKENS = ("latent", "key_rotary", "past_latent", "past_key_rotary")
HALF_OF_MATRICES = 0.5
"""Factor of drawn matrices: keys and values are then about as large as other cases have them."""


@dataclass(frozen=True)
class Latents:
    """The lengths of all axes: B, H, Sq, Sk, C, Dn, Dr, Ev and P."""

    batch: int = 2
    heads: int = 2
    queries: int = 2
    keys: int = 3
    latent: int = 3
    content: int = 2
    rotary: int = 1
    value: int = 2
    past: int = 0

    def shapes(self, of: str) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that a case of these sizes has."""
        queries = (self.batch, self.heads, self.queries)
        shapes: dict[str, tuple[int, ...]] = {
            **(
                {"query_content": (*queries, self.content)}
                if of == NAIVE
                else {"query_latent": (*queries, self.latent)}
            ),
            "query_rotary": (*queries, self.rotary),
            "latent": (self.batch, self.keys, self.latent),
            "key_rotary": (self.batch, self.keys, self.rotary),
        }
        if of == NAIVE:
            shapes["w_key"] = (self.heads, self.latent, self.content)
            shapes["w_value"] = (self.heads, self.latent, self.value)
        if self.past:
            shapes["past_latent"] = (self.batch, self.past, self.latent)
            shapes["past_key_rotary"] = (self.batch, self.past, self.rotary)
        return shapes

    def drawn(self, name: str, of: str) -> dict[str, Any]:
        """Draw every tensor from the portable generator; matrices are made smaller than tokens."""
        return {
            tensor: grid(f"{name}/{tensor}", shape) * (HALF_OF_MATRICES if tensor.startswith("w_") else 1.0)
            for tensor, shape in self.shapes(of).items()
        }


ONE_QUERY = Latents(batch=1, heads=1, queries=1, keys=17, latent=1, content=1, rotary=1, value=1)
"""Seventeen tokens: behind a block of sixteen there is another."""


def two_of(sizes: Latents) -> dict[str, Any]:
    """Give one batch entry two tokens in a larger buffer; cut at its beginning, the mask excludes the first one."""
    return {"mask": np.array([[True, True, *[False] * (sizes.keys - 3), True]]), "key_lengths": [2]}


def first_two(name: str, of: str, sizes: Latents, factor: float = 1.0) -> dict[str, Any]:
    """Draw latents and rotated keys, times a factor; those behind the first two are zeros."""
    drawn = {tensor: array * factor for tensor, array in sizes.drawn(f"latent/{name}", of).items() if tensor in TOKENS}
    for array in drawn.values():
        array[:, 2:] = 0
    return drawn


@headed
def latents(
    name: str,
    title: str,
    sizes: Latents | None = None,
    of: str = NAIVE,
    *,
    clauses: str = "",
    report: str | None = None,
    outputs: str = "",
    replaced: Mapping[str, NDArray[Any]] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    changed_argument: ChangedArgument | None = None,
    rejects: Rejects | None = None,
    mask: Any = None,
    key_lengths: list[int] | None = None,
    query_lengths: list[int] | None = None,
    **attributes: Any,
) -> AuthoredCase:
    """Make a case of latent attention, or `of` its absorbed form.

    Clauses come first, without the short name; `outputs` are stored beside the result; what is `replaced` goes before
    what is drawn. Absorbed, the scale is 0.625 where none is stated.
    """
    case_id, sizes = f"latent/{name}", sizes or Latents()
    inputs: dict[str, Any] = {**sizes.drawn(case_id, of), **(replaced or {})}
    if mask is not None:
        inputs |= drawn_by(case_id, {"mask": mask})
    for argument, lengths in (("key_lengths", key_lengths), ("query_lengths", query_lengths)):
        if lengths is not None:
            inputs[argument] = np.array(lengths, dtype=np.int64)
    if of == ABSORBED:
        attributes = {"scale": 0.625, **attributes}
    stored = (RESULTS[of], *outputs.split())
    found = _features(of, inputs, attributes, stored) if rejects is None else _Found((), ())
    return AuthoredCase(
        id=case_id,
        title=f"{'Latents' if of == NAIVE else 'Absorbed latents'}: {title}",
        operation=OPERATIONS[of],
        clauses=tuple(f"{of}.{clause}" for clause in dict.fromkeys((*clauses.split(), *found.clauses))),
        source=made_for("latent") if report is None else reported(report),
        inputs={tensor: require_exact(array, dtypes, named=f"{case_id}, {tensor}") for tensor, array in inputs.items()},
        attributes=attributes,
        outputs=stored,
        dtypes=dtypes,
        memory_order=memory_order or {},
        changed_argument=changed_argument,
        rejects=rejects,
        conventions=found.conventions,
    )


@dataclass(frozen=True)
class _Found:
    """What follows from the inputs of a case."""

    clauses: tuple[str, ...]
    conventions: tuple[str, ...]


def _features(
    of: str, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], stored: tuple[str, ...]
) -> _Found:
    """Name the clauses of the features that a case uses, and the conventions on which its results depend."""
    as_attention = {
        "query": inputs["query_rotary"],
        "key": inputs["latent"][:, np.newaxis],
        "value": inputs["key_rotary"][:, np.newaxis],
        **{name: inputs[name] for name in ("mask", "key_lengths", "query_lengths") if name in inputs},
    }
    if "past_latent" in inputs:
        as_attention["past_key"] = inputs["past_latent"][:, np.newaxis]
        as_attention["past_value"] = inputs["past_key_rotary"][:, np.newaxis]
    seen = attendance(as_attention, attributes)
    sensitive = set(conventions(as_attention, attributes, stored))
    if not all(np.isfinite(array).all() for name, array in inputs.items() if name != "mask"):
        sensitive.add("nonfinite_input")
    dead, no_keys = bool(seen.dead.any()), seen.attended.shape[-1] == 0
    stated, naive = attributes.get("scale") is not None, of == NAIVE
    used = {
        "keys": naive,
        "scores": not naive,
        "rotary.parts": naive,
        "rotary.shared": naive and inputs["query_rotary"].shape[1] > 1,
        "shared": not naive and inputs["query_rotary"].shape[1] > 1,
        "scale.default": naive and not stated,
        "scale.magnitude": naive and not stated and "magnitude" in attributes,
        "scale.explicit": naive and stated,
        "scale": not naive,
        "mask": "mask" in inputs,
        "causal": bool(attributes.get("is_causal")),
        "lengths": "key_lengths" in inputs or "query_lengths" in inputs,
        "past.concatenation": "past_latent" in inputs,
        "past.present": "present_latent" in stored,
        "softmax": not no_keys,
        "weights": "weights" in stored,
        "logsumexp": "logsumexp" in stored,
        "fully_masked_row": dead and not no_keys,
        "no_keys": dead and no_keys,
        "output": naive,
        "output_latent": "output_latent" in stored,
        "nonfinite_input": "nonfinite_input" in sensitive,
        "masked_nonfinite": "masked_nonfinite" in sensitive,
    }
    return _Found(tuple(clause for clause, uses in used.items() if uses), tuple(sorted(sensitive)))
