"""Rotary positions in the reference evaluator of the ONNX package.

================ ===========================================================================
Operation        Mapped to
================ ===========================================================================
`apply_rotary`   ``RotaryEmbedding``, opset 23, of four axes, with a table for each batch
                 entry instead of positions
others           ONNX has no operator for them
================ ===========================================================================

Products are stored in the dtype of the inputs, so that half precision is graded unfused. The conventions were found by
running ONNX 1.23, and the tests run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_adapters.onnx.evaluating import run_model
from attnspec_adapters.onnx_models.rotary import rotate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["apply_rotary", "conventions"]

conventions: Mapping[str, str] = {
    "apply_rotary.input_checks": "lenient",
    "apply_rotary.half_precision_overflow": "open",
}


def apply_rotary(x: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any], *, pairing: str = "half") -> NDArray[Any]:
    """Run ``RotaryEmbedding`` on (B, H, S, E); `ValueError` for a pairing that the operator does not have."""
    return rotate(run_model, x, cos, sin, pairing)
