"""RMS norm and QK-norm: epsilon, weights, heads, the order beside the rotation, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.norms.norms import qk_norms, rms_norms

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile `norms`."""
    return (*rms_norms.cases(), *qk_norms.cases())
