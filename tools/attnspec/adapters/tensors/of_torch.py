"""PyTorch's tensors."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin.libraries import import_library
from attnspec.adapters.tensors.strided_copies import strided_copy
from attnspec.dtypes import numpy_dtype
from attnspec.errors import TargetError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

torch = import_library("torch", adapter="torch")


def find_device(name: str) -> Any:
    """Return the ``torch.device`` called `name`.

    Raises
    ------
    TargetError
        If PyTorch does not know it, or cannot use it on this machine.
    """
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
    if copy.dtype.name == "bfloat16":
        # NumPy does not know bfloat16, so the bits travel as integers.
        return torch.from_numpy(copy.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(copy).to(device)


def to_array(tensor: Any) -> NDArray[Any]:
    """Give a tensor as an array of its dtype; on a CPU the two share memory."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return tensor.numpy()


class TorchTensors:
    """PyTorch's tensors on a device.

    Parameters
    ----------
    device
        A ``torch.device``.
    """

    def __init__(self, device: Any) -> None:
        self._device = device

    def given(self, array: NDArray[Any]) -> Any:
        """Return the array as a tensor."""
        return to_tensor(array, self._device)

    def held(self, tensor: Any) -> NDArray[Any]:
        """Return what the tensor holds."""
        return to_array(tensor)

    def returned(self, value: Any) -> Any:
        """Return a tensor as an array; anything else as it is."""
        return to_array(value) if isinstance(value, torch.Tensor) else value

    def calling(self) -> AbstractContextManager[Any]:
        """Return nothing that does anything: whether gradients are kept is for the function to say."""
        return nullcontext()


def tensors(device: str | None) -> TorchTensors:
    """Return them.

    Raises
    ------
    TargetError
        If PyTorch cannot use the device.
    """
    return TorchTensors(find_device(device or "cpu"))
