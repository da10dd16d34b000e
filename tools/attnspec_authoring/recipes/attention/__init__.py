"""The recipes of attention, a package or module a profile."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

PROFILES = (
    *("documents", "core", "masking", "causal", "grouped_query", "window", "softcap", "cache", "varlen", "paged"),
    *("sinks", "alibi", "logsumexp", "backward", "merge", "layout", "stress", "tails", "pairs", "nonfinite"),
    *("self_attention", "memory", "quantized", "rejects", "latent"),
)
"""The profiles whose cases hold their inputs: each is a module or a package of its name."""


def sampled_cases() -> tuple[AuthoredCase, ...]:
    """Return every case of attention with generated inputs, sorted by id."""
    from attnspec_authoring.recipes.attention import long

    return tuple(sorted(long.cases(), key=lambda case: case.id))


def authored_cases() -> tuple[AuthoredCase, ...]:
    """Return every authored case of attention, sorted by id."""
    from attnspec_authoring.recipes.attention import targets
    from attnspec_authoring.recipes.completing import with_targets

    cases: list[AuthoredCase] = [case for name in PROFILES for case in import_module(f"{__name__}.{name}").cases()]
    return with_targets(sorted(cases, key=lambda case: case.id), targets.TARGETS, targets.__file__)
