"""The built-in adapter `flax`: attention in Flax NNX on a CPU, compiled by ``jax.jit``.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`scaled_dot_product_attention`  ``flax.nnx.dot_product_attention``, which returns its weights, its
                                arguments transposed to (B, S, H, E) and its output back; the rest is
                                folded into one mask
... exclusions alone            ``mask``; causality alone is ``is_causal``
... a mask of numbers           ``bias``, in which an excluded key has -inf
`single_head_attention`         ``flax.nnx.MultiHeadAttention`` with one head; without `w_output`, its
                                output projection is the identity
`multi_head_attention`          ``flax.nnx.MultiHeadAttention``, which returns its weights
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  a `scale` other than 1/sqrt(E), unless the query can bear it without
                                rounding; `softcap`, `sinks`; `logsumexp`, `scores`, `logits`
`single_head_attention`         matrices of another width than `w_query`; a `scale` other than 1/sqrt(E)
`multi_head_attention`          a mask of numbers, which it reads as truth values; a `scale` other than
                                1/sqrt(E)
others                          Flax has no operator for them; softmax is JAX's
=============================== =====================================================================

Without weights Flax calls ``jax.nn.dot_product_attention``, for which see the adapter `jax`. Every step is stored in
the dtype of the inputs. 64-bit numbers are enabled for the calls alone. The conventions were found by running Flax 0.12
with JAX 0.10 on a CPU, and the tests run it again.
"""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.families.attention.folding import plain_attention
from attnspec.tensors.libraries import import_library
from attnspec_adapters.attention import biases_of, matrices_of, refuse_scale
from attnspec_adapters.composing import composed, taking

__all__ = ["adapter"]

flax = import_library("flax", adapter="flax")
jax = import_library("jax", adapter="flax")
nnx = import_library("flax.nnx", adapter="flax")

# They load JAX themselves: where it is missing, the lines above have said what this adapter needs.
from attnspec.tensors.jax_programs import programs_on_disk  # noqa: E402
from attnspec.tensors.of_jax import let_go_of_programs  # noqa: E402


def _attend(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
) -> dict[str, NDArray[Any]]:
    exclusion = {} if mask is None else {"mask" if mask.dtype == np.bool_ else "bias": mask}
    tokens = (array.swapaxes(-3, -2) for array in (query, key, value))
    output, weights = _run(_dot_product_attention, *tokens, is_causal=is_causal, **exclusion)
    return {"output": output.swapaxes(-3, -2), "weights": weights}


@taking("w_output scale")
def single_head_attention(given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``flax.nnx.MultiHeadAttention`` with one head on (S, D) and return `output` and `weights`.

    `Unsupported` for values of another width than the keys, and for another `scale` than the default.
    """
    if given.w_value.shape[1] != given.w_key.shape[1]:
        raise Unsupported("Flax's MultiHeadAttention has values as wide as the keys")
    output, weights = _run_layer(given, (given.x,) * 3, 1)
    return output, weights[0]


@taking("b_query b_key b_value b_output mask is_causal scale")
def multi_head_attention(given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``flax.nnx.MultiHeadAttention`` on (B, S, D) and return `output` and the `weights` of each head.

    `Unsupported` for a mask of numbers, and for another `scale` than the default.
    """
    mask, query = given.mask, given.query
    if mask is not None:
        if mask.dtype != np.bool_:
            raise Unsupported("Flax's MultiHeadAttention reads every mask as truth values")
        # Beside `is_causal` it takes whole masks alone.
        mask = np.broadcast_to(mask, (query.shape[0], given.num_heads, query.shape[1], given.key.shape[1]))
    tokens = (query, given.key, given.value)
    return _run_layer(given, tokens, given.num_heads, mask, is_causal=given.is_causal)


def _run_layer(
    given: SimpleNamespace,
    tokens: tuple[NDArray[Any], ...],
    num_heads: int,
    mask: NDArray[Any] | None = None,
    *,
    is_causal: bool = False,
) -> tuple[NDArray[Any], NDArray[Any]]:
    matrices = matrices_of(given)
    refuse_scale(given.scale, matrices[0].shape[1] // num_heads, "Flax's MultiHeadAttention")
    filled = tuple(
        np.zeros(matrix.shape[1], matrix.dtype) if bias is None else bias
        for matrix, bias in zip(matrices, biases_of(given), strict=True)
    )
    return _run(_multi_head_attention, tokens, matrices, filled, mask, num_heads=num_heads, is_causal=is_causal)


def _dot_product_attention(query: Any, key: Any, value: Any, **options: Any) -> tuple[Any, Any]:
    def attend(module: Any) -> Any:
        return nnx.dot_product_attention(query, key, value, module=module, deterministic=True, **options)

    return _with_weights(attend, nnx.Module())


def _multi_head_attention(
    tokens: Any, matrices: Any, biases: Any, mask: Any, *, num_heads: int, is_causal: bool
) -> tuple[Any, Any]:
    width, inner = matrices[0].shape
    layer = nnx.MultiHeadAttention(
        num_heads,
        width,
        inner,
        matrices[3].shape[1],
        param_dtype=matrices[0].dtype,
        kernel_init=nnx.initializers.zeros_init(),
        deterministic=True,
        decode=False,
        rngs=nnx.Rngs(0),
    )
    projections = (layer.query, layer.key, layer.value, layer.out)
    for projection, matrix, bias in zip(projections, matrices, biases, strict=True):
        projection.kernel[...] = matrix.reshape(projection.kernel.shape)
        projection.bias[...] = bias.reshape(projection.bias.shape)

    def attend(module: Any) -> Any:
        return module(*tokens, mask=mask, is_causal=is_causal, sow_weights=True)

    return _with_weights(attend, layer)


def _with_weights(attend: Callable[[Any], Any], module: Any) -> tuple[Any, Any]:
    """Return what a function returns, and the weights that it leaves in the module."""
    output, left = nnx.capture(attend, nnx.Intermediate)(module)
    return output, left["attention_weights"][-1]


def _run(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    let_go_of_programs()
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]), programs_on_disk():
        return jax.tree.map(np.asarray, _compiled(function)(*arguments, **options))


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(function, static_argnames=("is_causal", "num_heads"))


adapter = composed(
    "flax",
    str(flax.__version__),
    plain_attention(_attend, grouped_heads=True),
    single_head_attention,
    multi_head_attention,
    dtypes=FLOAT_DTYPES,
    conventions={
        "input_checks": "lenient",
        # A mask puts the lowest number where a score was; a bias of -inf is added.
        "fully_masked_row": "uniform",
        "fully_masked_row@float_mask": "nan",
        "fully_masked_row@alibi_slopes": "nan",
        "masked_nonfinite": "propagates",
    },
)
