"""``torch.nn.MultiheadAttention``: made from a case's matrices, with the contract's exclusions in its one mask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin.torch.tensors import to_tensor, torch
from attnspec.errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray


def attention_module(
    matrices: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
    biases: tuple[NDArray[Any] | None, NDArray[Any] | None, NDArray[Any] | None, NDArray[Any] | None],
    num_heads: int,
    device: Any = "cpu",
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
    device
        Where the parameters are to live.
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
    """Turn the contract's exclusions into the one mask of ``torch.nn.MultiheadAttention``.

    Parameters
    ----------
    mask
        Rank 2 to 4, broadcasts to `shape`; True may be attended. None for no mask.
    is_causal
        Whether keys after the query are excluded too.
    shape
        (B, H, Sq, Sk).
    device
        Where the mask is to live.

    Returns
    -------
    Tensor or None
        (B*H, Sq, Sk); True is ignored.
    """
    if mask is None and not is_causal:
        return None
    future = torch.ones(shape[-2:], dtype=torch.bool, device=device).triu(1) & is_causal
    if mask is None:
        excluded = future
    elif mask.dtype == np.bool_:
        excluded = to_tensor(~mask, device) | future
    else:
        excluded = to_tensor(mask, device).masked_fill(future, -math.inf)
    return torch.broadcast_to(excluded, shape).reshape(-1, *shape[-2:])


def refuse_scale(scale: float | None, width: int) -> None:
    """Raise Unsupported unless `scale` is the only one that ``torch.nn.MultiheadAttention`` has."""
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-15):
        raise Unsupported("torch's MultiheadAttention has no scale but 1/sqrt(E)")
