"""``torch.nn.MultiheadAttention``: made from a case's matrices, with the contract's exclusions in its one mask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import Unsupported
from attnspec_adapters.torch_tensors import to_tensor, torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def attention_module(
    matrices: Sequence[NDArray[Any]],
    biases: Sequence[NDArray[Any] | None],
    num_heads: int,
    device: Any = "cpu",
) -> Any:
    """Make a ``torch.nn.MultiheadAttention`` of the given parameters, on a device.

    `matrices` (D, D) project query, key, value and output as x @ W; `biases` are (D,), None for zero.
    """
    width = matrices[0].shape[0]
    # PyTorch applies x @ W.T.
    weights = [to_tensor(matrix.T, device) for matrix in matrices]
    offsets = [weights[0].new_zeros(width) if bias is None else to_tensor(bias, device) for bias in biases]
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


def module_mask(
    mask: NDArray[Any] | None, is_causal: bool, shape: tuple[int, int, int, int], device: Any = "cpu"
) -> Any:
    """Turn exclusions into the one mask (B*H, Sq, Sk) of ``torch.nn.MultiheadAttention``, in which True is ignored.

    In `mask`, which broadcasts to `shape` (B, H, Sq, Sk), True may be attended; None is for causality alone.
    """
    future = torch.ones(shape[-2:], dtype=torch.bool, device=device).triu(1) & is_causal
    if mask is None:
        excluded = future
    elif mask.dtype == np.bool_:
        excluded = to_tensor(~mask, device) | future
    else:
        excluded = to_tensor(mask, device).masked_fill(future, -math.inf)
    return torch.broadcast_to(excluded, shape).flatten(0, 1)


def run_module(
    tokens: tuple[Any, Any, Any],
    matrices: Sequence[NDArray[Any]],
    biases: Sequence[NDArray[Any] | None],
    num_heads: int,
    *,
    scale: float | None,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    need_weights: bool = True,
) -> tuple[Any, Any]:
    """Run a module on tokens (B, S, D) or (S, D); return the output and each head's weights, None unless asked for.

    PyTorch may take its fast path where query, key and value are one tensor, and computes weights in another way than
    those that nobody sees. `Unsupported` for any `scale` but None or the only one that there is.
    """
    query, key, value = tokens
    module = attention_module(matrices, biases, num_heads, query.device)
    refuse_scale(scale, module.head_dim)
    attn_mask = None
    if mask is not None or is_causal:
        shape = (query.shape[0], num_heads, query.shape[-2], key.shape[-2])
        attn_mask = module_mask(mask, is_causal, shape, query.device)
    return module(
        query,
        key,
        value,
        attn_mask=attn_mask,
        need_weights=need_weights,
        average_attn_weights=False,
        # A hint, which stands for the mask where no weights are asked for.
        is_causal=is_causal and mask is None and not need_weights,
    )


def square_matrices(
    x: NDArray[Any],
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    w_output: NDArray[Any] | None,
) -> tuple[NDArray[Any], ...]:
    """Return a single head's matrices (D, D), the identity for no output matrix; `Unsupported` for other shapes."""
    width = x.shape[-1]
    matrices = (w_query, w_key, w_value, np.eye(width, dtype=x.dtype) if w_output is None else w_output)
    if any(matrix.shape != (width, width) for matrix in matrices):
        raise Unsupported("torch's MultiheadAttention has square weight matrices, as wide as the tokens")
    return matrices


def refuse_scale(scale: float | None, width: int) -> None:
    """Raise Unsupported unless `scale` is the only one that ``torch.nn.MultiheadAttention`` has."""
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-15):
        raise Unsupported("torch's MultiheadAttention has no scale but 1/sqrt(E)")
