"""``torch.nn.MultiheadAttention`` as encoders call it, without weights: by PyTorch's kernels, and by its fast path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_adapters.torch.attention.modules import run_module, square_matrices
from attnspec_adapters.torch_tensors import find_device, to_array, to_tensor, torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class TorchMultihead:
    """Module without weights, in which attention is ``scaled_dot_product_attention``.

    `TargetError` for a device that PyTorch cannot use.
    """

    name: ClassVar[str] = "torch, MultiheadAttention"
    version: ClassVar[str] = str(torch.__version__)
    dtypes: ClassVar[tuple[str, ...]] = FLOAT_DTYPES
    conventions: ClassVar[Mapping[str, str]] = {"input_checks": "lenient", "masked_nonfinite": "propagates"}

    def __init__(self, device: str = "cpu") -> None:
        self._device = find_device(device)

    def single_head_attention(
        self,
        x: NDArray[Any],
        w_query: NDArray[Any],
        w_key: NDArray[Any],
        w_value: NDArray[Any],
        *,
        w_output: NDArray[Any] | None = None,
        scale: float | None = None,
    ) -> NDArray[Any]:
        """Run the module with one head on (S, D).

        `Unsupported` for weight matrices that are not (D, D), and for another `scale` than the default.
        """
        matrices = square_matrices(x, w_query, w_key, w_value, w_output)
        with torch.inference_mode():
            tokens = to_tensor(x, self._device)
            output, _ = run_module((tokens, tokens, tokens), matrices, (None,) * 4, 1, scale=scale, need_weights=False)
            return to_array(output)

    def multi_head_attention(
        self,
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
    ) -> NDArray[Any]:
        """Run the module on (B, S, D); `Unsupported` for a `scale`, and for a mask without batch entries."""
        if mask is not None and query.shape[0] == 0:
            raise Unsupported("MultiheadAttention, asked for no weights, cannot take a mask of no batch entries")
        with torch.inference_mode():
            output, _ = run_module(
                tuple(to_tensor(array, self._device) for array in (query, key, value)),
                (w_query, w_key, w_value, w_output),
                (b_query, b_key, b_value, b_output),
                num_heads,
                scale=scale,
                mask=mask,
                is_causal=is_causal,
                need_weights=False,
            )
            return to_array(output)


class TorchMultiheadFast:
    """Fast path of the module for inference: one native function for self-attention.

    `TargetError` for a device that PyTorch cannot use.
    """

    name: ClassVar[str] = "torch, MultiheadAttention, fast path"
    version: ClassVar[str] = str(torch.__version__)
    dtypes: ClassVar[tuple[str, ...]] = FLOAT_DTYPES
    conventions: ClassVar[Mapping[str, str]] = {
        "fully_masked_row": "nan",
        "input_checks": "lenient",
        "masked_nonfinite": "propagates",
    }

    def __init__(self, device: str = "cpu") -> None:
        self._device = find_device(device)

    def multi_head_attention(
        self,
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
        """Run the module on (B, S, D) and return `output` and the `weights` of each head.

        `Unsupported` for what PyTorch does not take its fast path for, and for another `scale` than the default.
        """
        if num_heads % 2 or (mask is not None and mask.dtype != np.bool_):
            raise Unsupported("torch's fast path takes an even number of heads and no float mask")
        if not all(np.array_equal(query, other, equal_nan=True) for other in (key, value)):
            raise Unsupported("torch's fast path takes one tensor as query, key and value")
        with torch.inference_mode():
            tokens = to_tensor(query, self._device)
            output, weights = run_module(
                (tokens, tokens, tokens),
                (w_query, w_key, w_value, w_output),
                (b_query, b_key, b_value, b_output),
                num_heads,
                scale=scale,
                mask=mask,
                is_causal=is_causal,
            )
            return to_array(output), to_array(weights)
