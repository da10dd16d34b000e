"""``torch.nn.functional.scaled_dot_product_attention``, with the kernel that PyTorch chooses or with one of them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from attnspec.adapters.builtin.libraries import import_library
from attnspec.adapters.builtin.torch.tensors import find_device, heads_differ, to_array, to_tensor, torch
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

causal_bias = import_library("torch.nn.attention.bias", adapter="torch")
kernels = import_library("torch.nn.attention", adapter="torch")

CONVENTIONS: Mapping[str, str] = {
    "input_checks": "lenient",
    "masked_nonfinite": "propagates",
    "half_precision_grade": "fused",
}
"""What every kernel of ``scaled_dot_product_attention`` does; the rest is as the spec has it."""


class TorchKernel:
    """``torch.nn.functional.scaled_dot_product_attention``, and nothing else.

    Parameters
    ----------
    device
        Where to run it, as PyTorch calls it.

    Raises
    ------
    TargetError
        If PyTorch cannot use the device.
    """

    name: ClassVar[str]
    version: ClassVar[str] = str(torch.__version__)
    dtypes: ClassVar[tuple[str, ...]] = FLOAT_DTYPES
    conventions: ClassVar[Mapping[str, str]] = CONVENTIONS
    kernel: ClassVar[str | None] = None
    """The member of ``torch.nn.attention.SDPBackend`` to run; None to leave the choice to PyTorch."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = find_device(device)

    def scaled_dot_product_attention(
        self,
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
            For `mask` together with `is_causal`, which PyTorch documents as an error; and for what the one kernel
            does not take.
        """
        if is_causal and mask is not None:
            raise Unsupported("torch's scaled_dot_product_attention takes a mask or is_causal, not both")
        with torch.inference_mode(), self._chosen_kernel():
            queries, keys, values = (to_tensor(array, self._device) for array in (query, key, value))
            exclusion: dict[str, Any] = {"is_causal": is_causal}
            if is_causal and causal_alignment == "bottom_right":
                exclusion = {"attn_mask": causal_bias.causal_lower_right(queries.shape[-2], keys.shape[-2])}
            elif mask is not None:
                exclusion = {"attn_mask": to_tensor(mask, self._device)}
            try:
                output = torch.nn.functional.scaled_dot_product_attention(
                    queries, keys, values, scale=scale, enable_gqa=heads_differ(query, key), **exclusion
                )
            except RuntimeError as error:
                if self.kernel is not None and "No available kernel" in str(error):
                    raise Unsupported(f"torch's {self.kernel} kernel does not take these inputs") from None
                raise
            return to_array(output)

    def _chosen_kernel(self) -> AbstractContextManager[object]:
        if self.kernel is None:
            return nullcontext()
        return kernels.sdpa_kernel(getattr(kernels.SDPBackend, self.kernel))


class TorchMath(TorchKernel):
    """The kernel ``MATH``: matrix product, softmax, matrix product; half precision is computed in float32."""

    name = "torch, math kernel"
    kernel = "MATH"


class TorchFlash(TorchKernel):
    """The kernel ``FLASH_ATTENTION``, which on a CPU takes every dtype.

    It wants query, key and value of one width and masks of rank 2 or 4.
    """

    name = "torch, flash kernel"
    kernel = "FLASH_ATTENTION"
