"""PyTorch beside its attention kernels: softmax, ``torch.nn.MultiheadAttention``, an initialisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_adapters.torch.attention.kernels import CONVENTIONS, TorchKernel
from attnspec_adapters.torch.attention.modules import run_module, square_matrices
from attnspec_adapters.torch_tensors import to_array, to_tensor, torch

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

        `Unsupported` for weight matrices that are not (D, D), and for another `scale` than the default.
        """
        matrices = square_matrices(x, w_query, w_key, w_value, w_output)
        with torch.inference_mode():
            tokens = to_tensor(x, self._device)
            output, weights = run_module((tokens, tokens, tokens), matrices, (None,) * 4, 1, scale=scale)
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

        `Unsupported` for another `scale` than the default.
        """
        with torch.inference_mode():
            # Three tensors, also where they hold the same: PyTorch takes its fast path for one.
            tokens = tuple(to_tensor(array, self._device) for array in (query, key, value))
            output, weights = run_module(
                tokens,
                (w_query, w_key, w_value, w_output),
                (b_query, b_key, b_value, b_output),
                num_heads,
                scale=scale,
                mask=mask,
                is_causal=is_causal,
            )
            return to_array(output), to_array(weights)

    def glorot_normal(self, fan_in: int, fan_out: int, seed: int) -> NDArray[Any]:
        """Run ``torch.nn.init.xavier_normal_`` with its own generator and return (fan_in, fan_out) in float64."""
        with torch.inference_mode():
            tensor = torch.empty(fan_in, fan_out, dtype=torch.float64)
            generator = torch.Generator().manual_seed(seed)
            return to_array(torch.nn.init.xavier_normal_(tensor, generator=generator))
