"""The built-in adapter `torch`: what PyTorch computes, as a user of PyTorch calls it.

=============================== =====================================================================
Operation                       Mapped to
=============================== =====================================================================
`softmax`                       ``torch.softmax``; of the whole array by flattening
`scaled_dot_product_attention`  ``torch.nn.functional.scaled_dot_product_attention``; ``enable_gqa``
                                where the numbers of heads differ; bottom-right causal by
                                ``torch.nn.attention.bias.causal_lower_right``
`single_head_attention`         ``torch.nn.MultiheadAttention`` with one head; without `w_output`, its
                                output projection is the identity
`multi_head_attention`          ``torch.nn.MultiheadAttention`` with weights for each head; it takes
                                one mask, in which True means "ignore" and is_causal is spelled out
`glorot_normal`                 ``torch.nn.init.xavier_normal_``
=============================== =====================================================================

=============================== =====================================================================
Operation                       Cannot be expressed
=============================== =====================================================================
`scaled_dot_product_attention`  `mask` together with `is_causal`; every output but `output`
`single_head_attention`         weight matrices that are not (D, D); a `scale` other than 1/sqrt(D)
`multi_head_attention`          a `scale` other than 1/sqrt(E)
`split_heads`, `combine_heads`, PyTorch has no operator for these: a user writes them from ``reshape``,
`causal_mask`, `context_vector` ``transpose``, ``tril`` and ``matmul``
=============================== =====================================================================

The conventions below were found by running PyTorch 2.13 on a CPU. One thing that they do not excuse: the
flash kernel gives 0 for a row of which every logit is NaN, where there are fewer keys than fit a vector
register.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin import installation
from attnspec.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.errors import MissingDependencyError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = [
    "conventions",
    "dtypes",
    "glorot_normal",
    "multi_head_attention",
    "name",
    "scaled_dot_product_attention",
    "single_head_attention",
    "softmax",
    "version",
]

try:
    # By name, because attnspec is type-checked where PyTorch is not installed.
    torch: Any = importlib.import_module("torch")
    causal_bias: Any = importlib.import_module("torch.nn.attention.bias")
except ImportError as error:
    raise MissingDependencyError(
        f"The adapter 'torch' needs PyTorch, which cannot be imported ({error}). "
        f"Install it with: {installation('torch')}"
    ) from error

name = "torch"
version: str = str(torch.__version__)
dtypes = FLOAT_DTYPES
conventions: Mapping[str, str] = {
    "input_checks": "lenient",
    "nonfinite_input": "propagates",
    "softmax.fully_masked_row": "nan",
    "scaled_dot_product_attention.fully_masked_row": "zero",
    "scaled_dot_product_attention.half_precision_grade": "fused",
    "multi_head_attention.fully_masked_row": "nan",
}


def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
    """Run ``torch.softmax`` along `axis`, or over the whole array where `axis` is None."""
    with torch.inference_mode():
        tensor = to_tensor(x)
        if axis is None:
            return to_array(torch.softmax(tensor.flatten(), dim=0).reshape(tensor.shape))
        return to_array(torch.softmax(tensor, dim=axis))


def scaled_dot_product_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
) -> NDArray[Any]:
    """Run PyTorch's own scaled dot-product attention on (B, H, S, E) and return its only result.

    Raises
    ------
    Unsupported
        For `mask` together with `is_causal`, which PyTorch documents as an error.
    """
    if is_causal and mask is not None:
        raise Unsupported("torch's scaled_dot_product_attention takes a mask or is_causal, not both")
    with torch.inference_mode():
        queries, keys, values = to_tensor(query), to_tensor(key), to_tensor(value)
        exclusion: dict[str, Any] = {"is_causal": is_causal}
        if is_causal and causal_alignment == "bottom_right":
            exclusion = {"attn_mask": causal_bias.causal_lower_right(queries.shape[-2], keys.shape[-2])}
        elif mask is not None:
            exclusion = {"attn_mask": to_tensor(mask)}
        return to_array(
            torch.nn.functional.scaled_dot_product_attention(
                queries, keys, values, scale=scale, enable_gqa=heads_differ(query, key), **exclusion
            )
        )


def single_head_attention(
    x: NDArray[Any],
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    *,
    w_output: NDArray[Any] | None = None,
    scale: float | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``torch.nn.MultiheadAttention`` with one head on (S, D) and return `output` and `weights`.

    Raises
    ------
    Unsupported
        For weight matrices that are not (D, D), and for another `scale` than the default.
    """
    width = x.shape[-1]
    w_output = np.eye(width, dtype=x.dtype) if w_output is None else w_output
    matrices = (w_query, w_key, w_value, w_output)
    if any(matrix.shape != (width, width) for matrix in matrices):
        raise Unsupported("torch's MultiheadAttention has square weight matrices, as wide as the tokens")
    with torch.inference_mode():
        module = attention_module(matrices, (None, None, None, None), num_heads=1)
        refuse_scale(scale, width)
        tokens = to_tensor(x)
        output, weights = module(tokens, tokens, tokens, need_weights=True, average_attn_weights=False)
        return to_array(output), to_array(weights[0])


def multi_head_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    w_output: NDArray[Any],
    num_heads: int,
    b_query: NDArray[Any] | None = None,
    b_key: NDArray[Any] | None = None,
    b_value: NDArray[Any] | None = None,
    b_output: NDArray[Any] | None = None,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Run ``torch.nn.MultiheadAttention`` on (B, S, D) and return `output` and the `weights` of each head.

    Raises
    ------
    Unsupported
        For another `scale` than the default.
    """
    with torch.inference_mode():
        module = attention_module((w_query, w_key, w_value, w_output), (b_query, b_key, b_value, b_output), num_heads)
        refuse_scale(scale, module.head_dim)
        output, weights = module(
            to_tensor(query),
            to_tensor(key),
            to_tensor(value),
            attn_mask=module_mask(mask, is_causal, (query.shape[0], num_heads, query.shape[-2], key.shape[-2])),
            need_weights=True,
            average_attn_weights=False,
        )
        return to_array(output), to_array(weights)


def glorot_normal(fan_in: int, fan_out: int, seed: int) -> NDArray[Any]:
    """Run ``torch.nn.init.xavier_normal_`` with its own generator and return (fan_in, fan_out) in float64."""
    with torch.inference_mode():
        tensor = torch.empty(fan_in, fan_out, dtype=torch.float64)
        generator = torch.Generator().manual_seed(seed)
        return to_array(torch.nn.init.xavier_normal_(tensor, generator=generator))


def to_tensor(array: NDArray[Any]) -> Any:
    """Copy an array into a tensor of its dtype, the axes in the same order in memory.

    A copy, because PyTorch warns of read-only arrays and refuses some strides; in the same order, because a
    library must cope with transposed inputs.
    """
    copy = np.array(array, order="K")
    if copy.dtype.name == "bfloat16":
        # NumPy does not know bfloat16, so the bits travel as integers.
        return torch.from_numpy(copy.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(copy)


def to_array(tensor: Any) -> NDArray[Any]:
    """Give a tensor as an array of its dtype; the two share memory."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return tensor.numpy()


def heads_differ(query: NDArray[Any], key: NDArray[Any]) -> bool:
    """Tell whether query and key have head axes of different lengths."""
    return query.ndim == key.ndim == 4 and query.shape[1] != key.shape[1]


def attention_module(
    matrices: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
    biases: tuple[NDArray[Any] | None, NDArray[Any] | None, NDArray[Any] | None, NDArray[Any] | None],
    num_heads: int,
) -> Any:
    """Make a ``torch.nn.MultiheadAttention`` that holds the given parameters.

    Parameters
    ----------
    matrices
        Projections of query, key, value and output, (D, D), to be applied as x @ W.
    biases
        Their biases (D,); None is zero.
    num_heads
        Number of heads.
    """
    width = matrices[0].shape[0]
    # PyTorch applies x @ W.T.
    weights = [to_tensor(matrix.T) for matrix in matrices]
    offsets = [weights[0].new_zeros(width) if bias is None else to_tensor(bias) for bias in biases]
    # On the device "meta" the module draws no random weights, which would advance the user's generator.
    module = torch.nn.MultiheadAttention(width, num_heads, batch_first=True, device="meta", dtype=weights[0].dtype)
    parameters = {
        "in_proj_weight": torch.cat(weights[:3]),
        "in_proj_bias": torch.cat(offsets[:3]),
        "out_proj.weight": weights[3],
        "out_proj.bias": offsets[3],
    }
    module.load_state_dict(parameters, assign=True)
    return module.eval()


def module_mask(mask: NDArray[Any] | None, is_causal: bool, shape: tuple[int, int, int, int]) -> Any:
    """Turn the contract's exclusions into the one mask of ``torch.nn.MultiheadAttention``.

    Parameters
    ----------
    mask
        Rank 2 to 4, broadcasts to `shape`; True may be attended. None for no mask.
    is_causal
        Whether keys after the query are excluded too.
    shape
        (B, H, Sq, Sk).

    Returns
    -------
    Tensor or None
        (B*H, Sq, Sk); True is ignored.
    """
    if mask is None and not is_causal:
        return None
    future = torch.ones(shape[-2:], dtype=torch.bool).triu(1) & is_causal
    if mask is None:
        excluded = future
    elif mask.dtype == np.bool_:
        excluded = to_tensor(~mask) | future
    else:
        excluded = to_tensor(mask).masked_fill(future, -math.inf)
    return torch.broadcast_to(excluded, shape).reshape(-1, *shape[-2:])


def refuse_scale(scale: float | None, width: int) -> None:
    """Raise Unsupported unless `scale` is the only one that ``torch.nn.MultiheadAttention`` has."""
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-15):
        raise Unsupported("torch's MultiheadAttention has no scale but 1/sqrt(E)")
