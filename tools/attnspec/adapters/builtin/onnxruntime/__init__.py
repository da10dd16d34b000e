"""The built-in adapter `onnxruntime`: ONNX Runtime on a CPU."""

from __future__ import annotations

from attnspec.adapters.builtin.composing import composed
from attnspec.adapters.tensors.libraries import import_library

__all__ = ["adapter"]

runtime = import_library("onnxruntime", adapter="onnxruntime")
adapter = composed(__name__, name="onnxruntime", version=str(runtime.__version__), dtypes=("float32", "float16"))
