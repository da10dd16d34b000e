"""PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import TargetError, Unsupported
from attnspec.contract.dtypes import numpy_dtype
from attnspec.tensors.libraries import import_library
from attnspec.tensors.of_numpy import NumpyTensors, strided_copy

if TYPE_CHECKING:
    from numpy.typing import NDArray

torch = import_library("torch", adapter="torch")


_OF_SAME_BITS = {"bfloat16": "int16", "float8_e4m3fn": "int8", "float8_e5m2": "int8"}
"""The dtypes that PyTorch has and NumPy lacks, with the integers as wide."""


def find_device(name: str) -> Any:
    """Return the ``torch.device`` called `name`; raise `TargetError` if PyTorch cannot use it on this machine."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()
    # PyTorch raises AssertionError where it was built without CUDA, and NotImplementedError for "meta".
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise TargetError(f"--device {name}: PyTorch {torch.__version__} cannot use it here: {reason}") from None
    return device


def to_tensor(array: NDArray[Any], device: Any = "cpu") -> Any:
    """Copy an array into a tensor of its dtype, with its strides where PyTorch can have them.

    A copy, because PyTorch warns of read-only arrays; negative strides, which it refuses, become positive ones.
    """
    copy = strided_copy(array)
    bits = _OF_SAME_BITS.get(copy.dtype.name)
    if bits is not None:
        # NumPy does not know bfloat16 and float8, so the bits travel as integers.
        return torch.from_numpy(copy.view(bits)).view(getattr(torch, copy.dtype.name)).to(device)
    return torch.from_numpy(copy).to(device)


def to_array(tensor: Any) -> NDArray[Any]:
    """Return a tensor as an array of its dtype; on a CPU the two share memory."""
    if tensor.device.type != "cpu":
        # A copy waits for its own stream alone, and work may be left on another.
        torch.accelerator.synchronize(tensor.device)
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _OF_SAME_BITS:
        return tensor.view(getattr(torch, _OF_SAME_BITS[name])).numpy().view(numpy_dtype(name))
    return tensor.numpy()


def gradients(
    function: Callable[[Mapping[str, Any]], Mapping[str, Any]], at: Mapping[str, Any], along: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the gradients of a function by ``torch.autograd.grad``, as `Differentiable.gradients` says."""
    with torch.enable_grad():
        # A tensor of its own for each name, which shares the memory: one tensor in two roles has a gradient for each.
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in at.items()}
        outputs = function(leaves)
        kept = [name for name in along if outputs[name].requires_grad]
        if not kept:
            if all(tensor.numel() for tensor in at.values()):
                raise TypeError(
                    f"PyTorch's autograd sees no way from {', '.join(along)} back to {', '.join(at)}: it was computed "
                    "without gradients, as under torch.no_grad, after detach, or by a kernel without a backward pass"
                )
            return {name: torch.zeros_like(leaf) for name, leaf in leaves.items()}
        for name in along:
            if name not in kept:
                raise Unsupported(f"it keeps no gradient of its {name!r}")
        found = torch.autograd.grad(
            [outputs[name] for name in kept],
            list(leaves.values()),
            [along[name].to(outputs[name].dtype) for name in kept],
            materialize_grads=True,
        )
    return dict(zip(leaves, found, strict=True))


class TorchTensors(NumpyTensors):
    """PyTorch's tensors on a ``torch.device``; a function itself decides whether gradients are kept."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def given(self, array: NDArray[Any]) -> Any:
        """Return the array as a tensor."""
        return to_tensor(array, self._device)

    def array(self, tensor: Any) -> NDArray[Any]:
        """Return the tensor as an array."""
        return to_array(tensor)

    def returned(self, value: Any) -> Any:
        """Return a tensor as an array; anything else as it is."""
        return to_array(value) if isinstance(value, torch.Tensor) else value

    gradients = staticmethod(gradients)

    def has_gradient(self, tensor: Any) -> bool:
        """Return whether a tensor holds numbers of a float dtype."""
        return tensor.is_floating_point()


def tensors(device: str | None) -> TorchTensors:
    """Return PyTorch's tensors on a device (None: the CPU); raise `TargetError` if PyTorch cannot use it."""
    return TorchTensors(find_device(device or "cpu"))
