"""ONNX models of ``RotaryEmbedding``, as the adapters `onnx` and `onnxruntime` run them."""

from __future__ import annotations

from functools import cache

from attnspec.adapters.builtin.onnx_models import model_of, onnx


@cache
def serialized_rotation(dtype: str, *, interleaved: bool, rotated_width: int) -> bytes:
    """Return the bytes of a model of ``RotaryEmbedding``, opset 23, from `x`, `cos` and `sin` to `output`.

    Parameters
    ----------
    dtype
        Dtype of every tensor.
    interleaved
        Whether neighbouring features make pairs.
    rotated_width
        How many features are rotated; 0 for all.
    """
    inputs = ("x", "cos", "sin")
    attributes = {"interleaved": int(interleaved), "rotary_embedding_dim": rotated_width}
    node = onnx().helper.make_node("RotaryEmbedding", list(inputs), ["output"], **attributes)
    return model_of(node, dict.fromkeys(inputs, dtype), {"output": dtype}, 23)
