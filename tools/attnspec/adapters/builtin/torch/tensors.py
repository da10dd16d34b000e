"""Arrays to PyTorch's tensors and back, on the device that the user chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.adapters.builtin.libraries import import_library
from attnspec.dtypes import numpy_dtype
from attnspec.errors import TargetError

if TYPE_CHECKING:
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
    """Copy an array into a tensor of its dtype, the axes in the same order in memory.

    A copy, because PyTorch warns of read-only arrays and refuses some strides; in the same order, because a
    library must cope with transposed inputs.
    """
    copy = np.array(array, order="K")
    if copy.dtype.name == "bfloat16":
        # NumPy does not know bfloat16, so the bits travel as integers.
        return torch.from_numpy(copy.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(copy).to(device)


def to_array(tensor: Any) -> NDArray[Any]:
    """Give a tensor as an array of its dtype; on a CPU the two share memory."""
    tensor = tensor.cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return tensor.numpy()


def heads_differ(query: NDArray[Any], key: NDArray[Any]) -> bool:
    """Tell whether query and key have head axes of different lengths."""
    return query.ndim == key.ndim == 4 and query.shape[1] != key.shape[1]
