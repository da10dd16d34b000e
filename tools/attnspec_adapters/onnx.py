"""The built-in adapter `onnx`: the reference evaluator of the ONNX package, which computes with NumPy.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``Softmax``, opset 13; of the whole array by flattening
`scaled_dot_product_attention`  ``Attention``, opset 23, 24 where lengths are given, 25 with a window
... `key_lengths`               ``nonpad_kv_seqlen``
... bottom-right alignment      ``nonpad_kv_seqlen``; every key where the case gives no lengths
... `window`                    ``left_window_size``, ``right_window_size``
... `scores`, `logits`,         ``qk_matmul_output`` in the modes 0, 2 and 3, a run each
`weights`
`apply_rotary`                  ``RotaryEmbedding``, opset 23, of four axes, with a table for each batch
                                entry instead of positions
`scatter_cache`                 ``TensorScatter``, opset 24; steps are calls
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  a negative `scale`: it is applied as a square root to both sides;
                                a `scale` or `softcap` that float32 does not hold; top-left causal or
                                windows with lengths; bottom-right ones with a past that does not end
                                where the queries begin; `query_lengths`, `sinks`, `alibi_slopes`;
                                `logsumexp`; refusing a mask shorter than the keys, which it fills up
others                          ONNX has no operator for them
=============================== =====================================================================

Every tensor is stored in the dtype of the inputs, so that half precision is graded unfused. The conventions were found
by running ONNX 1.23, and the tests run it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed
from attnspec_adapters.onnx_models import attention_by, rotary_by, scatter_by, softmax_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["adapter"]

onnx = import_library("onnx", adapter="onnx")
reference = import_library("onnx.reference", adapter="onnx")


def _run_model(model: bytes, inputs: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Return the outputs of a serialized model, in its order."""
    return _evaluator(model).run(None, dict(inputs))


@cache
def _evaluator(model: bytes) -> Any:
    return reference.ReferenceEvaluator(model)


adapter = composed(
    "onnx reference evaluator",
    str(onnx.__version__),
    softmax_by(_run_model),
    attention_by(_run_model, ("weights", "logits", "scores")),
    rotary_by(_run_model),
    scatter_by(_run_model),
    dtypes=FLOAT_DTYPES,
    conventions={
        "input_checks": "lenient",
        "softmax.fully_masked_row": "nan",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
        "scaled_dot_product_attention.no_keys": "refuse",
        "apply_rotary.input_checks": "lenient",
        "scatter_cache.input_checks": "none",
        "apply_rotary.half_precision_overflow": "open",
    },
)
