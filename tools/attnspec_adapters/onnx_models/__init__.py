"""ONNX models of one operator, as the adapters `onnx` and `onnxruntime` run them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from collections.abc import Mapping

_IR_VERSION = 10
"""The oldest version of the format that both libraries read for these operators."""


def model_of(node: Any, inputs: Mapping[str, str], outputs: Mapping[str, str], opset: int) -> bytes:
    """Return the bytes of a model of one operator, from name to dtype; open shapes let it serve every case."""
    helper = onnx().helper
    graph = helper.make_graph([node], "attnspec", _values(inputs), _values(outputs))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=_IR_VERSION)
    return model.SerializeToString()


def _values(dtypes: Mapping[str, str]) -> list[Any]:
    types = {
        "bool": onnx().TensorProto.BOOL,
        "int64": onnx().TensorProto.INT64,
        "float64": onnx().TensorProto.DOUBLE,
        "float32": onnx().TensorProto.FLOAT,
        "float16": onnx().TensorProto.FLOAT16,
        "bfloat16": onnx().TensorProto.BFLOAT16,
    }
    return [onnx().helper.make_tensor_value_info(name, types[dtype], None) for name, dtype in dtypes.items()]


def onnx() -> Any:
    """Return the ONNX package."""
    return import_library("onnx", adapter="onnx")
