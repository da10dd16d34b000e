"""Rotary positions in ONNX Runtime on a CPU.

================ ===========================================================================
Operation        Mapped to
================ ===========================================================================
`apply_rotary`   ``RotaryEmbedding``, opset 23, of four axes, with a table for each batch
                 entry instead of positions
others           ONNX has no operator for them
================ ===========================================================================

It checks every shape. float16 is rounded once at the end, and yet graded unfused, because nobody promises it. Found by
running ONNX Runtime 1.31, and the tests run it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_adapters.onnx_models.rotary import rotate
from attnspec_adapters.onnxruntime.evaluating import run_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["apply_rotary", "conventions"]

conventions: Mapping[str, str] = {}


def apply_rotary(x: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any], *, pairing: str = "half") -> NDArray[Any]:
    """Run ``RotaryEmbedding`` on (B, H, S, E); `ValueError` for a pairing that the operator does not have."""
    return rotate(run_model, x, cos, sin, pairing)
