"""``torch.nn.MultiheadAttention``: with weights beside PyTorch's kernel, without them, and by its fast path."""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.tensors.of_torch import to_array, to_tensor, torch
from attnspec_adapters.attention import biases_of, matrices_of, refuse_scale
from attnspec_adapters.composing import taking
from attnspec_adapters.torch.kernels import CONVENTIONS, TorchAdapter, TorchKernel

_OPTIONAL = "b_query b_key b_value b_output mask is_causal scale"
"""What multi-head attention takes beside tokens and matrices."""


def _module(
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


def _module_mask(
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


def _run_module(
    given: SimpleNamespace, tokens: tuple[Any, Any, Any], num_heads: int, *, need_weights: bool = True
) -> tuple[Any, Any]:
    """Run a module on tokens (B, S, D) or (S, D); return the output and each head's weights, None unless requested.

    PyTorch may take its fast path where query, key and value are one tensor, and computes weights in another way than
    those that nobody sees. `Unsupported` for any `scale` but None or the only one that there is.
    """
    query, key, value = tokens
    module = _module(matrices_of(given), biases_of(given), num_heads, query.device)
    refuse_scale(given.scale, module.head_dim, "torch's MultiheadAttention")
    # A single head has neither.
    mask, is_causal = getattr(given, "mask", None), getattr(given, "is_causal", False)
    attn_mask = None
    if mask is not None or is_causal:
        shape = (query.shape[0], num_heads, query.shape[-2], key.shape[-2])
        attn_mask = _module_mask(mask, is_causal, shape, query.device)
    return module(
        query,
        key,
        value,
        attn_mask=attn_mask,
        need_weights=need_weights,
        average_attn_weights=False,
        # A hint, which stands for the mask where no weights are requested.
        is_causal=is_causal and mask is None and not need_weights,
    )


def _run_single_head(given: SimpleNamespace, device: Any, *, need_weights: bool) -> tuple[Any, Any]:
    """Run a module with one head on tokens (S, D); `Unsupported` for matrices that are not (D, D), and for a scale."""
    width = given.x.shape[-1]
    if any(matrix.shape != (width, width) for matrix in matrices_of(given)):
        raise Unsupported("torch's MultiheadAttention has square weight matrices, as wide as the tokens")
    return _run_module(given, (to_tensor(given.x, device),) * 3, 1, need_weights=need_weights)


def _tokens(given: SimpleNamespace, device: Any) -> tuple[Any, Any, Any]:
    """Return three tensors, also where they hold the same: PyTorch takes its fast path for one."""
    return to_tensor(given.query, device), to_tensor(given.key, device), to_tensor(given.value, device)


class Torch(TorchKernel):
    """PyTorch as its user calls it: the attention kernel is PyTorch's own choice."""

    name = "torch"
    conventions = {  # noqa: RUF012 - declared a ClassVar in the base
        **CONVENTIONS,
        "softmax.fully_masked_row": "nan",
        "multi_head_attention.fully_masked_row": "nan",
        "rms_norm.input_checks": "strict",
    }

    def softmax(self, x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
        """Run ``torch.softmax`` along `axis`, or over the whole array where `axis` is None."""
        with torch.inference_mode():
            tensor = to_tensor(x, self._device)
            if axis is None:
                return to_array(torch.softmax(tensor.flatten(), dim=0).reshape(tensor.shape))
            return to_array(torch.softmax(tensor, dim=axis))

    def rms_norm(self, x: NDArray[Any], weight: NDArray[Any], epsilon: float) -> NDArray[Any]:
        """Run ``torch.nn.functional.rms_norm`` along the last axis."""
        with torch.inference_mode():
            tensors = to_tensor(x, self._device), to_tensor(weight, self._device)
            return to_array(torch.nn.functional.rms_norm(tensors[0], x.shape[-1:], tensors[1], epsilon))

    @taking("w_output scale")
    def single_head_attention(self, given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
        """Run ``torch.nn.MultiheadAttention`` with one head on (S, D) and return `output` and `weights`."""
        with torch.inference_mode():
            output, weights = _run_single_head(given, self._device, need_weights=True)
            return to_array(output), to_array(weights[0])

    @taking(_OPTIONAL)
    def multi_head_attention(self, given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
        """Run ``torch.nn.MultiheadAttention`` on (B, S, D) and return `output` and the `weights` of each head.

        `Unsupported` for another `scale` than the default.
        """
        with torch.inference_mode():
            output, weights = _run_module(given, _tokens(given, self._device), given.num_heads)
            return to_array(output), to_array(weights)

    def glorot_normal(self, fan_in: int, fan_out: int, seed: int) -> NDArray[Any]:
        """Run ``torch.nn.init.xavier_normal_`` with its own generator and return (fan_in, fan_out) in float64."""
        with torch.inference_mode():
            tensor = torch.empty(fan_in, fan_out, dtype=torch.float64)
            generator = torch.Generator().manual_seed(seed)
            return to_array(torch.nn.init.xavier_normal_(tensor, generator=generator))


class TorchMultihead(TorchAdapter):
    """Module without weights, in which attention is ``scaled_dot_product_attention``."""

    name: ClassVar[str] = "torch, MultiheadAttention"
    conventions: ClassVar[Mapping[str, str]] = {"input_checks": "lenient", "masked_nonfinite": "propagates"}

    @taking("w_output scale")
    def single_head_attention(self, given: SimpleNamespace) -> NDArray[Any]:
        """Run the module with one head on (S, D)."""
        with torch.inference_mode():
            return to_array(_run_single_head(given, self._device, need_weights=False)[0])

    @taking(_OPTIONAL)
    def multi_head_attention(self, given: SimpleNamespace) -> NDArray[Any]:
        """Run the module on (B, S, D); `Unsupported` for a `scale`, and for a mask without batch entries."""
        if given.mask is not None and given.query.shape[0] == 0:
            raise Unsupported("MultiheadAttention, run without weights, cannot take a mask of no batch entries")
        with torch.inference_mode():
            tokens = _tokens(given, self._device)
            return to_array(_run_module(given, tokens, given.num_heads, need_weights=False)[0])


class TorchMultiheadFast(TorchAdapter):
    """Fast path of the module for inference: one native function for self-attention."""

    name: ClassVar[str] = "torch, MultiheadAttention, fast path"
    conventions: ClassVar[Mapping[str, str]] = {**TorchMultihead.conventions, "fully_masked_row": "nan"}

    @taking(_OPTIONAL)
    def multi_head_attention(self, given: SimpleNamespace) -> tuple[NDArray[Any], NDArray[Any]]:
        """Run the module on (B, S, D) and return `output` and the `weights` of each head.

        `Unsupported` for what PyTorch does not take its fast path for, and for another `scale` than the default.
        """
        if given.num_heads % 2 or (given.mask is not None and given.mask.dtype != np.bool_):
            raise Unsupported("torch's fast path takes an even number of heads and no float mask")
        if not all(np.array_equal(given.query, other, equal_nan=True) for other in (given.key, given.value)):
            raise Unsupported("torch's fast path takes one tensor as query, key and value")
        with torch.inference_mode():
            output, weights = _run_module(given, (to_tensor(given.query, self._device),) * 3, given.num_heads)
            return to_array(output), to_array(weights)
