"""Tensors in JSON, as the process protocol writes them: dtype, shape and a nested list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attnspec.offline.tensor_file import TensorFileError
from attnspec.process.tensors_on_the_wire import WireError, as_object, decode_tensor, encode_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def tensors_to_json(tensors: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return tensors as JSON types; the strings ``inf``, ``-inf`` and ``nan`` stand for numbers that JSON lacks."""
    return {name: encode_tensor(array, "list") for name, array in tensors.items()}


def read_json(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, by name; TensorFileError if it is no JSON object of tensors."""
    try:
        document = as_object(json.loads(content.decode("utf-8")))
    except (ValueError, RecursionError) as problem:
        raise TensorFileError(f"it is no JSON ({str(problem)[:100]})") from None
    if document is None:
        raise TensorFileError("it holds no JSON object of tensors by name")
    try:
        return {name: decode_tensor(tensor, "list", name) for name, tensor in document.items()}
    except WireError as problem:
        raise TensorFileError(str(problem)) from None
