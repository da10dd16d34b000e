"""The profile `caches`, a module a way to write, and one for what is quantized."""

from __future__ import annotations

from attnspec_authoring.recipes.authoring import AuthoredCase
from attnspec_authoring.recipes.caches.caches import appending, paging, quantizing, scattering, slotting, windowing


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `caches`."""
    modules = (appending, scattering, slotting, paging, quantizing, windowing)
    return tuple(case for module in modules for case in module.cases())
