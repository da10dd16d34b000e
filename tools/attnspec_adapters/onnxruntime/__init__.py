"""The built-in adapter `onnxruntime`: ONNX Runtime on a CPU."""

from __future__ import annotations

from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

runtime = import_library("onnxruntime", adapter="onnxruntime")
adapter = composed(__name__, name="onnxruntime", version=str(runtime.__version__), dtypes=("float32", "float16"))
