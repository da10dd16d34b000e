"""What PyTorch offers beside its attention kernels: softmax, ``torch.nn.MultiheadAttention``, an initialisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin.torch.attention.kernels import CONVENTIONS, TorchKernel
from attnspec.adapters.builtin.torch.attention.modules import attention_module, module_mask, refuse_scale
from attnspec.adapters.builtin.torch.tensors import to_array, to_tensor, torch
from attnspec.errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Torch(TorchKernel):
    """PyTorch as its user calls it: the attention kernel is PyTorch's own choice."""

    name = "torch"
    conventions = {  # noqa: RUF012 - declared a ClassVar in the base
        **CONVENTIONS,
        "softmax.fully_masked_row": "nan",
        "multi_head_attention.fully_masked_row": "nan",
    }

    def softmax(self, x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
        """Run ``torch.softmax`` along `axis`, or over the whole array where `axis` is None."""
        with torch.inference_mode():
            tensor = to_tensor(x, self._device)
            if axis is None:
                return to_array(torch.softmax(tensor.flatten(), dim=0).reshape(tensor.shape))
            return to_array(torch.softmax(tensor, dim=axis))

    def single_head_attention(
        self,
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
            module = attention_module(matrices, (None, None, None, None), 1, self._device)
            refuse_scale(scale, width)
            tokens = to_tensor(x, self._device)
            output, weights = module(tokens, tokens, tokens, need_weights=True, average_attn_weights=False)
            return to_array(output), to_array(weights[0])

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
        """Run ``torch.nn.MultiheadAttention`` on (B, S, D) and return `output` and the `weights` of each head.

        Raises
        ------
        Unsupported
            For another `scale` than the default.
        """
        with torch.inference_mode():
            matrices, biases = (w_query, w_key, w_value, w_output), (b_query, b_key, b_value, b_output)
            module = attention_module(matrices, biases, num_heads, self._device)
            refuse_scale(scale, module.head_dim)
            shape = (query.shape[0], num_heads, query.shape[-2], key.shape[-2])
            output, weights = module(
                to_tensor(query, self._device),
                to_tensor(key, self._device),
                to_tensor(value, self._device),
                attn_mask=module_mask(mask, is_causal, shape, self._device),
                need_weights=True,
                average_attn_weights=False,
            )
            return to_array(output), to_array(weights)

    def glorot_normal(self, fan_in: int, fan_out: int, seed: int) -> NDArray[Any]:
        """Run ``torch.nn.init.xavier_normal_`` with its own generator and return (fan_in, fan_out) in float64."""
        with torch.inference_mode():
            tensor = torch.empty(fan_in, fan_out, dtype=torch.float64)
            generator = torch.Generator().manual_seed(seed)
            return to_array(torch.nn.init.xavier_normal_(tensor, generator=generator))
