"""The worked examples of the five source documents, one module for each document.

The documents themselves are not part of the suite. A case names its document by file, and keeps what the
document printed next to what the formula gives; where the two differ it names the erratum
(``spec/errata.md``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.documents import (
    document_000_single_head,
    document_001_step_by_step,
    document_002_multi_head_module,
    document_002_one_head,
    document_003_three_questions,
    document_004_features_first,
)

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of all five documents, in the order of the documents."""
    return (
        *document_000_single_head.cases(),
        *document_001_step_by_step.cases(),
        *document_002_one_head.cases(),
        *document_002_multi_head_module.cases(),
        *document_003_three_questions.cases(),
        *document_004_features_first.cases(),
    )
