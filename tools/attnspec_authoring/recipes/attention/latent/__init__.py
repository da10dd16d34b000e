"""Profile latent: attention to latents that all heads share, made into keys and values, absorbed, cached, in pages.

The first word of a name says which: `naive` and `cache` cases are latent attention, `absorbed` ones what a kernel
computes of it, `paged` ones both, of lengths that show in the layouts with pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.latent import absorbed, cached, naive, paged, refused, targets
from attnspec_authoring.recipes.completing import with_targets

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile."""
    made = tuple(case for module in (naive, absorbed, cached, paged, refused) for case in module.cases())
    return with_targets(made, targets.TARGETS, targets.__file__)
