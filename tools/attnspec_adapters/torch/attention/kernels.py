"""``torch.nn.functional.scaled_dot_product_attention``, with the kernel that PyTorch chooses or with one of them."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.torch_tensors import differentiate, find_device, heads_differ, to_array, to_tensor, torch

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
"""Conventions of every kernel of ``scaled_dot_product_attention``; the rest is as the spec has it."""


_NO_KERNEL = ("No available kernel", "No viable backend")
"""Message of PyTorch where no kernel that is allowed takes the inputs, or the device has none."""


class TorchKernel:
    """``torch.nn.functional.scaled_dot_product_attention`` alone; `TargetError` for a device unknown to PyTorch."""

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

        `Unsupported` for `mask` together with `is_causal`, which PyTorch documents as an error, and for what the one
        kernel does not take.
        """
        given = {"query": query, "key": key, "value": value, **({} if mask is None else {"mask": mask})}
        with torch.inference_mode():
            tensors = {name: to_tensor(array, self._device) for name, array in given.items()}
            attended = self._attend(tensors, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale)
            return to_array(attended["output"])

    def scaled_dot_product_attention_backward(
        self,
        grad_output: NDArray[Any],
        query: NDArray[Any],
        key: NDArray[Any],
        value: NDArray[Any],
        *,
        output: NDArray[Any] | None = None,  # noqa: ARG002 - autograd has its own
        logsumexp: NDArray[Any] | None = None,  # noqa: ARG002
        mask: NDArray[Any] | None = None,
        is_causal: bool = False,
        causal_alignment: str = "top_left",
        scale: float | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run it forwards, and return what autograd gives for `grad_output`; raises as forwards."""
        return differentiate(
            partial(self._attend, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale),
            {"query": query, "key": key, "value": value, "mask": mask},
            {"output": grad_output},
            self._device,
        )

    def _attend(
        self, tensors: Mapping[str, Any], *, is_causal: bool, causal_alignment: str, scale: float | None
    ) -> dict[str, Any]:
        query, key, value = tensors["query"], tensors["key"], tensors["value"]
        if is_causal and "mask" in tensors:
            raise Unsupported("torch's scaled_dot_product_attention takes a mask or is_causal, not both")
        exclusion: dict[str, Any] = {"is_causal": is_causal}
        if is_causal and causal_alignment == "bottom_right":
            exclusion = {"attn_mask": causal_bias.causal_lower_right(query.shape[-2], key.shape[-2])}
        elif "mask" in tensors:
            exclusion = {"attn_mask": tensors["mask"]}
        with self._chosen_kernel():
            try:
                output = torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, scale=scale, enable_gqa=heads_differ(query, key), **exclusion
                )
            except RuntimeError as error:
                if self.kernel is not None and any(said in str(error) for said in _NO_KERNEL):
                    raise Unsupported(f"torch's {self.kernel} kernel does not take these inputs") from None
                raise
        return {"output": output}

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

    def scaled_dot_product_attention_backward(
        self,
        grad_output: NDArray[Any],
        query: NDArray[Any],
        key: NDArray[Any],
        value: NDArray[Any],
        *,
        output: NDArray[Any] | None = None,
        logsumexp: NDArray[Any] | None = None,
        mask: NDArray[Any] | None = None,
        is_causal: bool = False,
        causal_alignment: str = "top_left",
        scale: float | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run the kernel's backward operator where it can be called by itself, and autograd, which calls it, elsewhere.

        `Unsupported` as forwards, and for float masks, whose gradient the kernel does not have.
        """
        if mask is not None and mask.dtype != np.bool_:
            raise Unsupported("torch's flash kernel gives no gradient of a mask")
        how: dict[str, Any] = {"is_causal": is_causal, "causal_alignment": causal_alignment, "scale": scale}
        aligned = not is_causal or causal_alignment == "top_left"
        if output is None or logsumexp is None or mask is not None or not aligned or self._device.type != "cpu":
            return super().scaled_dot_product_attention_backward(grad_output, query, key, value, mask=mask, **how)
        with torch.inference_mode():
            tensors = {
                name: to_tensor(array, self._device)
                for name, array in (("query", query), ("key", key), ("value", value))
            }
            # The operator reads whatever it is given: the forward pass refuses inputs that the kernel does not take.
            self._attend(tensors, **how)
            found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                to_tensor(grad_output, self._device),
                *tensors.values(),
                # Its own forward pass leaves no output whose features lie apart, which it takes for granted.
                to_tensor(output, self._device).contiguous(),
                # Half precision has it in float32.
                to_tensor(logsumexp, self._device).to(torch.promote_types(tensors["query"].dtype, torch.float32)),
                0.0,
                is_causal,
                scale=scale,
            )
            return dict(zip(("grad_query", "grad_key", "grad_value"), map(to_array, found), strict=True))
