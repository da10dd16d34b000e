"""``torch.nn.functional.scaled_dot_product_attention``, with the kernel that PyTorch chooses or with one of them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec.tensors.of_torch import find_device, gradients, to_array, to_tensor, torch
from attnspec_adapters.composing import taking

causal_bias = import_library("torch.nn.attention.bias", adapter="torch")
kernels = import_library("torch.nn.attention", adapter="torch")

CONVENTIONS: Mapping[str, str] = {
    "input_checks": "lenient",
    "masked_nonfinite": "propagates",
    "half_precision_grade": "fused",
}
"""Conventions of every kernel of ``scaled_dot_product_attention``; the rest is as the spec has it."""


_NO_KERNEL = ("No available kernel", "No viable backend")
"""Message of PyTorch where no kernel that is allowed takes the inputs, or the device has none."""


class TorchAdapter:
    """What every adapter of PyTorch has: its version, every dtype, a device; `TargetError` for one that is unknown."""

    name: ClassVar[str]
    version: ClassVar[str] = str(torch.__version__)
    dtypes: ClassVar[tuple[str, ...]] = FLOAT_DTYPES
    conventions: ClassVar[Mapping[str, str]] = CONVENTIONS

    def __init__(self, device: str = "cpu") -> None:
        self._device = find_device(device)


class TorchKernel(TorchAdapter):
    """``torch.nn.functional.scaled_dot_product_attention`` alone."""

    kernel: ClassVar[str | None] = None
    """The member of ``torch.nn.attention.SDPBackend`` to run; None to leave the choice to PyTorch."""

    @taking("mask is_causal causal_alignment scale")
    def scaled_dot_product_attention(self, given: SimpleNamespace) -> NDArray[Any]:
        """Run PyTorch's own scaled dot-product attention on (B, H, S, E) and return its only result.

        `Unsupported` for `mask` together with `is_causal`, which PyTorch documents as an error, and for what the one
        kernel does not take.
        """
        with torch.inference_mode():
            return to_array(self._attend(given, self._tensors(given)))

    # Of the forward pass it takes `output` and `logsumexp`, and autograd has its own.
    @taking("output logsumexp mask is_causal causal_alignment scale")
    def scaled_dot_product_attention_backward(self, given: SimpleNamespace) -> dict[str, NDArray[Any]]:
        """Run it forwards, and return what autograd gives for `grad_output`; raises as forwards."""
        return self._by_autograd(given)

    def _by_autograd(self, given: SimpleNamespace) -> dict[str, NDArray[Any]]:
        tensors = self._tensors(given)
        found = gradients(
            lambda differentiated: {"output": self._attend(given, {**tensors, **differentiated})},
            {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()},
            {"output": to_tensor(given.grad_output, self._device)},
        )
        return {f"grad_{name}": to_array(gradient) for name, gradient in found.items()}

    def _tensors(self, given: SimpleNamespace) -> dict[str, Any]:
        arrays = {name: getattr(given, name) for name in ("query", "key", "value", "mask")}
        return {name: to_tensor(array, self._device) for name, array in arrays.items() if array is not None}

    def _attend(self, given: SimpleNamespace, tensors: Mapping[str, Any]) -> Any:
        query, key, value = tensors["query"], tensors["key"], tensors["value"]
        if given.is_causal and "mask" in tensors:
            raise Unsupported("torch's scaled_dot_product_attention takes a mask or is_causal, not both")
        exclusion: dict[str, Any] = {"is_causal": given.is_causal}
        if given.is_causal and given.causal_alignment == "bottom_right":
            exclusion = {"attn_mask": causal_bias.causal_lower_right(query.shape[-2], key.shape[-2])}
        elif "mask" in tensors:
            exclusion = {"attn_mask": tensors["mask"]}
        with self._chosen_kernel():
            try:
                return torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, scale=given.scale, enable_gqa=heads_differ(query, key), **exclusion
                )
            except RuntimeError as error:
                if self.kernel is not None and any(said in str(error) for said in _NO_KERNEL):
                    raise Unsupported(f"torch's {self.kernel} kernel does not take these inputs") from None
                raise

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

    It wants query, key and value of one width and masks of rank 2 or 4. On a CPU its backward operator can be called by
    itself, with what the forward pass gave; autograd calls the same one.
    """

    name = "torch, flash kernel"
    kernel = "FLASH_ATTENTION"

    @taking("output logsumexp mask is_causal causal_alignment scale")
    def scaled_dot_product_attention_backward(self, given: SimpleNamespace) -> dict[str, NDArray[Any]]:
        """Run the kernel's backward operator where it can be called by itself, and autograd, which calls it, elsewhere.

        `Unsupported` as forwards, and for float masks, whose gradient the kernel does not have.
        """
        if given.mask is not None and given.mask.dtype != np.bool_:
            raise Unsupported("torch's flash kernel gives no gradient of a mask")
        output, logsumexp = given.output, given.logsumexp
        is_aligned = not given.is_causal or given.causal_alignment == "top_left"
        if (
            output is None
            or logsumexp is None
            or given.mask is not None
            or not is_aligned
            # The operator divides by the number of key heads, and no heads end the process.
            or given.key.shape[1] == 0
            or self._device.type != "cpu"
        ):
            return self._by_autograd(given)
        with torch.inference_mode():
            tensors = self._tensors(given)
            # The operator reads whatever it is given: the forward pass refuses inputs that the kernel does not take.
            self._attend(given, tensors)
            found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                to_tensor(given.grad_output, self._device),
                *tensors.values(),
                # Its own forward pass leaves no output whose features lie apart, which it takes for granted.
                to_tensor(output, self._device).contiguous(),
                # Half precision has it in float32.
                to_tensor(logsumexp, self._device).to(torch.promote_types(tensors["query"].dtype, torch.float32)),
                0.0,
                given.is_causal,
                scale=given.scale,
            )
            return dict(zip(("grad_query", "grad_key", "grad_value"), map(to_array, found), strict=True))


def heads_differ(query: Any, key: Any) -> bool:
    """Return whether query and key have head axes of different lengths."""
    return query.ndim == key.ndim == 4 and query.shape[1] != key.shape[1]
