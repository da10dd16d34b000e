"""Profile `long`: from 1,000 to 131,072 keys; inputs are generated, and rows that a sample names are certified."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.long.lengths import beyond, thousands
from attnspec_authoring.recipes.attention.long.targets import TARGETS
from attnspec_authoring.recipes.completing import read_targets

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile, each with the mistakes that it is there to catch."""
    targets = {case_id: tuple(f"sdpa.long_{name}" for name in named) for case_id, named in read_targets(TARGETS)}
    return tuple(replace(case, targets=targets[case.id]) for case in (*thousands(), *beyond()))
