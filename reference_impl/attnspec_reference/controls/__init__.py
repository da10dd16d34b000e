"""The controls: right implementations that compute in another way than the reference.

They guard against a suite that fails what is right: every case must pass every control.

Examples
--------
>>> from attnspec_reference.controls import controls_of
>>> controls_of("softmax")[0].id
'softmax.by_logarithm'
"""

from __future__ import annotations

from attnspec_reference.controls import (
    attention_freedoms,
    attention_products,
    attention_softmax,
    context_vector,
    masks_and_heads,
    multi_head_attention,
    single_head_attention,
    softmax,
)
from attnspec_reference.controls.control import Control

__all__ = ["CONTROLS", "Control", "controls_of"]

CONTROLS: tuple[Control, ...] = (
    *softmax.CONTROLS,
    *masks_and_heads.CONTROLS,
    *attention_products.CONTROLS,
    *attention_softmax.CONTROLS,
    *attention_freedoms.CONTROLS,
    *single_head_attention.CONTROLS,
    *multi_head_attention.CONTROLS,
    *context_vector.CONTROLS,
)
"""Every control, in the order of the operations in the specification."""


def controls_of(operation: str) -> tuple[Control, ...]:
    """Return the controls of one operation.

    Parameters
    ----------
    operation
        Name of the operation, such as ``"softmax"``.

    Returns
    -------
    controls
        Its controls in their order; none for an operation that has none.
    """
    return tuple(control for control in CONTROLS if control.operation == operation)
