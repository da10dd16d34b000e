"""Keras with PyTorch underneath: the backend is chosen before Keras is imported, and cannot be changed afterwards."""

from __future__ import annotations

import os
import sys

from attnspec.base.errors import TargetError
from attnspec.tensors.libraries import import_library

__all__ = ["keras", "tensors", "torch"]

if "keras" not in sys.modules:
    os.environ["KERAS_BACKEND"] = "torch"
keras = import_library("keras", adapter="keras")
torch = import_library("torch", adapter="keras")
tensors = import_library("attnspec_adapters.torch_tensors", adapter="keras")
if keras.backend.backend() != "torch":
    raise TargetError(
        f"The adapter 'keras' runs the torch backend, and Keras has been imported with {keras.backend.backend()!r}. "
        "Set KERAS_BACKEND=torch."
    )
