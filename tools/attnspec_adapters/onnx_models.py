"""ONNX models of ``Attention``, ``Softmax`` and ``RotaryEmbedding``, as the adapters `onnx` and `onnxruntime` run them.

Each model of ``Attention`` has the oldest version of it that has what the case needs: 23; 24 where lengths are given;
25 where there is a window. Shapes are left open, so that one model serves every case with the same arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.attention import softmax_along
from attnspec_adapters.composing import taking

Run = Callable[[bytes, Mapping[str, NDArray[Any]]], Sequence[NDArray[Any]]]

_IR_VERSION = 10
"""The oldest version of the format that both libraries read for these operators."""

INPUTS = ("query", "key", "value", "mask", "past_key", "past_value", "key_lengths")
"""The contract's inputs in the order of the operator's."""

STEPS = {"scores": 0, "logits": 2, "weights": 3}
"""Content of ``qk_matmul_output``, to the mode that makes it so."""


@dataclass(frozen=True)
class AttentionModel:
    """Model of ``Attention``: everything that is not a shape.

    `inputs` has dtypes by the contract's names; `step` is the name in :data:`STEPS` of what is returned beside the
    output.
    """

    opset: int
    inputs: tuple[tuple[str, str], ...]
    attributes: tuple[tuple[str, float | int], ...]
    step: str

    @property
    def outputs(self) -> tuple[str, ...]:
        """The contract's names of the outputs that are returned, in order."""
        present = ("present_key", "present_value") if "past_key" in dict(self.inputs) else ()
        return ("output", *present, self.step)


def run_attention(run: Run, given: SimpleNamespace, steps: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Run ``Attention`` on a case, once for each of `steps`, and return the output, the steps and what is present.

    `run` takes a serialized model and inputs; `given` has the arguments of the contract for attributes; `Unsupported`
    for what the operator cannot express.
    """
    fed = {name: array for name in INPUTS if (array := getattr(given, name)) is not None}
    if given.is_causal or given.window is not None:
        if given.causal_alignment == "bottom_right" and not {"past_key", "key_lengths"} & fed.keys():
            batch, key_length = fed["key"].shape[0], fed["key"].shape[-2]
            fed["key_lengths"] = np.full(batch, key_length, dtype=np.int64)
        _check_placement(fed, given.causal_alignment)
    _check_mask(fed)
    attributes: dict[str, float | int] = {"is_causal": 1} if given.is_causal else {}
    for attribute, value in (("scale", given.scale), ("softcap", given.softcap or None)):
        if value is not None:
            attributes[attribute] = _as_float32(attribute, value)
    if given.scale is not None and given.scale < 0:
        raise Unsupported("ONNX's Attention multiplies by the square root of scale, which must not be negative")
    for attribute, distance in zip(("left_window_size", "right_window_size"), given.window or (), strict=False):
        if distance is not None:
            attributes[attribute] = distance
    returned: dict[str, NDArray[Any]] = {}
    # One model for each, because `qk_matmul_output` is one step at a time.
    for step in steps:
        model = AttentionModel(
            opset=25 if given.window is not None else 24 if "key_lengths" in fed else 23,
            inputs=tuple((name, fed[name].dtype.name) for name in INPUTS if name in fed),
            attributes=tuple(attributes.items()),
            step=step,
        )
        returned |= zip(model.outputs, run(serialized(model), fed), strict=True)
    return returned


def attention_by(run: Run, steps: Sequence[str]) -> Callable[..., dict[str, NDArray[Any]]]:
    """Make `scaled_dot_product_attention` of what runs a model: ``Attention``, on (B, H, S, E).

    It returns the output, the steps and, with a past, what is present; `Unsupported` for what the operator lacks.
    """

    @taking("mask past_key past_value key_lengths is_causal causal_alignment scale softcap window")
    def scaled_dot_product_attention(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
        return run_attention(run, given, steps)

    return scaled_dot_product_attention


def functions_by(run: Run) -> Mapping[str, Callable[..., Any]]:
    """Return the operations that ONNX has an operator for, by name; of the steps of attention, the weights."""
    return {
        function.__name__: function for function in (softmax_by(run), attention_by(run, ("weights",)), rotary_by(run))
    }


def _check_placement(inputs: Mapping[str, NDArray[Any]], causal_alignment: str) -> None:
    """Raise Unsupported unless the operator positions the queries as the case does."""
    query_length, past = inputs["query"].shape[-2], inputs.get("past_key")
    past_length = 0 if past is None else past.shape[-2]
    lengths = inputs.get("key_lengths")
    placed = past_length if lengths is None else lengths - query_length
    if causal_alignment == "top_left":
        wanted = past_length
    else:
        wanted = (past_length + inputs["key"].shape[-2] if lengths is None else lengths) - query_length
    if not np.all(placed == wanted):
        raise Unsupported("ONNX's Attention puts queries after the past, or ends them with nonpad_kv_seqlen")


def _check_mask(inputs: Mapping[str, NDArray[Any]]) -> None:
    """Raise Unsupported for a mask that the operator takes and the contract does not."""
    mask, past = inputs.get("mask"), inputs.get("past_key")
    keys = inputs["key"].shape[-2] + (0 if past is None else past.shape[-2])
    if mask is not None and mask.shape[-1] < keys:
        raise Unsupported("ONNX's Attention fills up a mask that is shorter than the keys")


def _as_float32(attribute: str, value: float) -> float:
    if float(np.float32(value)) != value:
        raise Unsupported(f"ONNX's attributes are float32, and {attribute}={value!r} is not")
    return value


@cache
def serialized(model: AttentionModel) -> bytes:
    """Return the bytes of a model; inputs and outputs have the contract's names."""
    dtypes = dict(model.inputs)
    given = [name if name in dtypes else "" for name in INPUTS]
    while not given[-1]:
        given.pop()
    made = [name if name in model.outputs else "" for name in ("output", "present_key", "present_value", model.step)]
    attributes = {**dict(model.attributes), "qk_matmul_output_mode": STEPS[model.step]}
    node = onnx().helper.make_node("Attention", given, made, **attributes)
    return _model_of(node, dtypes, dict.fromkeys(model.outputs, dtypes["query"]), model.opset)


def softmax_by(run: Run) -> Callable[..., NDArray[Any]]:
    """Make `softmax` of what runs a model: ``Softmax``, opset 13."""
    return softmax_along(lambda x, axis: run(_serialized_softmax(x.dtype.name, axis), {"x": x})[0])


@cache
def _serialized_softmax(dtype: str, axis: int) -> bytes:
    node = onnx().helper.make_node("Softmax", ["x"], ["output"], axis=axis)
    return _model_of(node, {"x": dtype}, {"output": dtype}, 13)


def rotary_by(run: Run) -> Callable[..., NDArray[Any]]:
    """Make `apply_rotary` of what runs a model: ``RotaryEmbedding``, opset 23, on (B, H, S, E).

    It has a table for each batch entry instead of positions; `ValueError` for a pairing that the operator lacks.
    """

    @taking("pairing")
    def apply_rotary(given: SimpleNamespace) -> NDArray[Any]:
        if given.pairing not in ("half", "interleaved"):
            raise ValueError(f"ONNX's RotaryEmbedding has no pairing {given.pairing!r}")
        width = 2 * given.cos.shape[-1]
        model = _serialized_rotation(
            given.x.dtype.name,
            interleaved=given.pairing == "interleaved",
            rotated_width=0 if width == given.x.shape[-1] else width,
        )
        return run(model, {"x": given.x, "cos": given.cos, "sin": given.sin})[0]

    return apply_rotary


@cache
def _serialized_rotation(dtype: str, *, interleaved: bool, rotated_width: int) -> bytes:
    """Return a model from `x`, `cos` and `sin` to `output`; a `rotated_width` of 0 rotates all features."""
    inputs = ("x", "cos", "sin")
    attributes = {"interleaved": int(interleaved), "rotary_embedding_dim": rotated_width}
    node = onnx().helper.make_node("RotaryEmbedding", list(inputs), ["output"], **attributes)
    return _model_of(node, dict.fromkeys(inputs, dtype), {"output": dtype}, 23)


def scatter_by(run: Run) -> Callable[..., NDArray[Any]]:
    """Make `scatter_cache` of what runs a model: ``TensorScatter``, opset 24; a step is a call.

    `ValueError` for a mode that the operator lacks.
    """

    @taking("write_indices axis mode")
    def scatter_cache(given: SimpleNamespace) -> NDArray[Any]:
        if given.mode not in ("linear", "circular"):
            raise ValueError(f"ONNX's TensorScatter has no mode {given.mode!r}")
        stated = given.write_indices is not None
        model = _serialized_scatter(given.cache.dtype.name, given.axis, given.mode, stated=stated)
        indices = {"write_indices": given.write_indices} if stated else {}
        return run(model, {"cache": given.cache, "update": given.update, **indices})[0]

    return scatter_cache


@cache
def _serialized_scatter(dtype: str, axis: int, mode: str, *, stated: bool) -> bytes:
    """Return a model from `cache`, `update` and, where they are `stated`, `write_indices` to `present`."""
    inputs = {"cache": dtype, "update": dtype, **({"write_indices": "int64"} if stated else {})}
    node = onnx().helper.make_node("TensorScatter", list(inputs), ["present"], axis=axis, mode=mode)
    return _model_of(node, inputs, {"present": dtype}, 24)


def _model_of(node: Any, inputs: Mapping[str, str], outputs: Mapping[str, str], opset: int) -> bytes:
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
