"""The input with which some cases are asked once more, reversed along every axis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.cases import ChangedArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

CHANGED: Mapping[str, str] = {
    "merge/plain": "output_a",
    "merge/plain_other_numbers": "logsumexp_b",
    "merge/batch": "logsumexp_a",
    "merge/heads_9": "output_b",
    "merge/gaps_of_heads": "logsumexp_b",
    "merge/gaps_in_one_head": "logsumexp_a",
    "merge/empty_rows": "output_b",
    "merge/empty_heads": "output_a",
    "merge/ten_thousand_roughly": "output_a",
}
"""Id of a case to its changed input."""


def with_changed_arguments(cases: Iterable[AuthoredCase]) -> tuple[AuthoredCase, ...]:
    """Say of each case which input is changed in the call after it."""
    return tuple(
        replace(case, changed_argument=ChangedArgument(CHANGED[case.id], reversed=True)) if case.id in CHANGED else case
        for case in cases
    )
