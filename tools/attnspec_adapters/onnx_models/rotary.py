"""ONNX models of ``RotaryEmbedding``, as the adapters `onnx` and `onnxruntime` run them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec_adapters.onnx_models import model_of, onnx

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray


def rotate(
    run: Callable[[bytes, Mapping[str, NDArray[Any]]], Sequence[NDArray[Any]]],
    x: NDArray[Any],
    cos: NDArray[Any],
    sin: NDArray[Any],
    pairing: str,
) -> NDArray[Any]:
    """Run ``RotaryEmbedding`` on (B, H, S, E), with a table for each batch entry instead of positions.

    `run` takes a serialized model and inputs; `ValueError` for a pairing that the operator does not have.
    """
    if pairing not in ("half", "interleaved"):
        raise ValueError(f"ONNX's RotaryEmbedding has no pairing {pairing!r}")
    width = 2 * cos.shape[-1]
    model = serialized_rotation(
        x.dtype.name, interleaved=pairing == "interleaved", rotated_width=0 if width == x.shape[-1] else width
    )
    return run(model, {"x": x, "cos": cos, "sin": sin})[0]


@cache
def serialized_rotation(dtype: str, *, interleaved: bool, rotated_width: int) -> bytes:
    """Return the bytes of a model of ``RotaryEmbedding``, opset 23, from `x`, `cos` and `sin` to `output`.

    `interleaved` makes pairs of neighbouring features; a `rotated_width` of 0 rotates all.
    """
    inputs = ("x", "cos", "sin")
    attributes = {"interleaved": int(interleaved), "rotary_embedding_dim": rotated_width}
    node = onnx().helper.make_node("RotaryEmbedding", list(inputs), ["output"], **attributes)
    return model_of(node, dict.fromkeys(inputs, dtype), {"output": dtype}, 23)
