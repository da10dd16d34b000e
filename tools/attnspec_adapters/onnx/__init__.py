"""The built-in adapter `onnx`: the reference evaluator of the ONNX package."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

onnx = import_library("onnx", adapter="onnx")
adapter = composed(__name__, name="onnx reference evaluator", version=str(onnx.__version__), dtypes=FLOAT_DTYPES)
