"""The catalogue of mistakes: wrong implementations, each a small departure from the reference.

The catalogue serves twice. It proves that the cases notice what they should, and it tells an implementation that
failed which mistake reproduces its numbers.

Examples
--------
>>> from attnspec_reference.mistakes import mistakes_of
>>> mistakes_of("softmax")[0].id
'softmax.first_axis_always'
"""

from __future__ import annotations

from attnspec_reference.mistakes import (
    causal_mask,
    context_vector,
    glorot_normal,
    heads,
    multi_head_attention,
    scaled_dot_product_attention,
    single_head_attention,
    softmax,
)
from attnspec_reference.mistakes.mistake import Mistake

__all__ = ["CATALOGUE", "Mistake", "mistakes_of"]

CATALOGUE: tuple[Mistake, ...] = (
    *softmax.MISTAKES,
    *causal_mask.MISTAKES,
    *heads.MISTAKES,
    *scaled_dot_product_attention.MISTAKES,
    *single_head_attention.MISTAKES,
    *multi_head_attention.MISTAKES,
    *context_vector.MISTAKES,
    *glorot_normal.MISTAKES,
)
"""Every mistake, in the order of the operations in the specification."""


def mistakes_of(operation: str) -> tuple[Mistake, ...]:
    """Return the mistakes of one operation.

    Parameters
    ----------
    operation
        Name of the operation, such as ``"softmax"``.

    Returns
    -------
    mistakes
        Its mistakes in the order of the catalogue; none for an operation that has none.
    """
    return tuple(mistake for mistake in CATALOGUE if mistake.operation == operation)
