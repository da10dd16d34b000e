"""The built-in adapter `onnxruntime`: ONNX Runtime on a CPU.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``Softmax``, opset 13; of the whole array by flattening
`scaled_dot_product_attention`  ``Attention``, opset 23, or 24 where lengths are given
... `key_lengths`               ``nonpad_kv_seqlen``
... bottom-right alignment      ``nonpad_kv_seqlen``; every key where the case gives no lengths
... `scores`, `weights`         ``qk_matmul_output`` in the modes 0 and 3, a run each
`apply_rotary`                  ``RotaryEmbedding``, opset 23, of four axes, with a table for each batch
                                entry instead of positions
`rms_norm`                      ``RMSNormalization``, opset 23, which takes the weight as it is
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  all that the operator cannot, for which see the adapter `onnx`; and, of
                                what it can: `window`, a `scale` of 0, a mask whose query axis is 1
                                for several queries, empty tensors, float64, bfloat16
... `logits`                    excluded keys have the lowest finite number there, not -inf
others                          ONNX has no operator for them
=============================== =====================================================================

float64 is not offered: there is no kernel for it, and the function that ONNX Runtime runs instead is that of an
older text of the operator (NaN for a row without keys, another alignment with lengths, a default scale that is
rounded to float32). Half precision stores every tensor and is graded unfused; so is a rotation, which
is rounded once at the end, because nobody promises it. The conventions were found by running
ONNX Runtime 1.31, and the tests run it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed, taking
from attnspec_adapters.onnx_models import norm_by, rotary_by, run_attention, softmax_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["adapter"]

runtime = import_library("onnxruntime", adapter="onnxruntime")
# The models are made with it, and a message about it must come now rather than with the first case.
import_library("onnx", adapter="onnxruntime")


def _run_model(model: bytes, inputs: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Return the outputs of a serialized model, in its order."""
    return _session(model).run(None, dict(inputs))


@cache
def _session(model: bytes) -> Any:
    options = runtime.SessionOptions()
    # Refusals are answered to the caller; by default they are logged to stderr as well.
    options.log_severity_level = 4
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@taking("mask past_key past_value key_lengths is_causal causal_alignment scale softcap")
def scaled_dot_product_attention(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
    """Run ``Attention`` on (B, H, S, E) and return `output`, two steps and, with a past, what is present.

    `Unsupported` for what the operator cannot express, and for what ONNX Runtime does not take.
    """
    # Some empty tensors it refuses by itself. Without heads, which rank 3 has none of either, it divides by zero and
    # ends the process.
    if given.query.size == 0 or given.query.ndim == 3:
        raise Unsupported("onnxruntime's Attention takes no tensors that are empty, or that have no axis of heads")
    if given.past_key is not None and given.key.size == 0:
        raise Unsupported("onnxruntime's Attention takes no past without new keys")
    if given.scale == 0:
        raise Unsupported("onnxruntime's Attention takes no scale of 0")
    mask = given.mask
    if mask is not None and mask.ndim >= 2 and mask.shape[-2] == 1 != given.query.shape[-2]:
        raise Unsupported("onnxruntime's Attention does not broadcast a mask along its query axis")
    return run_attention(_run_model, given, ("weights", "scores"))


adapter = composed(
    "onnxruntime",
    str(runtime.__version__),
    softmax_by(_run_model),
    scaled_dot_product_attention,
    rotary_by(_run_model),
    norm_by(_run_model),
    dtypes=("float32", "float16"),
    conventions={
        # It takes a weight of one element for all features.
        "rms_norm.input_checks": "lenient",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
        "scaled_dot_product_attention.no_keys": "refuse",
    },
)
