"""Rotary positions in ONNX Runtime on a CPU.

================ ===========================================================================
Operation        Mapped to
================ ===========================================================================
`apply_rotary`   ``RotaryEmbedding``, opset 23, of four axes, with a table for each batch
                 entry in the place of positions
others           ONNX has no operator for them
================ ===========================================================================

It checks every shape. float16 is rounded once at the end, and yet graded unfused, because nobody promises it. Found by
running ONNX Runtime 1.31, and the tests run it again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec.adapters.builtin.libraries import import_library
from attnspec.adapters.builtin.onnx_models.rotary import serialized_rotation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["apply_rotary", "conventions"]

runtime = import_library("onnxruntime", adapter="onnxruntime")

conventions: Mapping[str, str] = {}


def apply_rotary(x: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any], *, pairing: str = "half") -> NDArray[Any]:
    """Run ``RotaryEmbedding`` on (B, H, S, E).

    Raises
    ------
    ValueError
        The pairing is none of the two that the operator's attribute has.
    """
    if pairing not in ("half", "interleaved"):
        raise ValueError(f"ONNX's RotaryEmbedding has no pairing {pairing!r}")
    width = 2 * cos.shape[-1]
    model = serialized_rotation(
        x.dtype.name, interleaved=pairing == "interleaved", rotated_width=0 if width == x.shape[-1] else width
    )
    return _session(model).run(None, {"x": x, "cos": cos, "sin": sin})[0]


@cache
def _session(model: bytes) -> Any:
    options = runtime.SessionOptions()
    # Refusals are answered to the caller; by default they are logged to stderr as well.
    options.log_severity_level = 4
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
