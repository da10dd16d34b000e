"""The built-in adapter `tinygrad`: tinygrad in its interpreter, which needs no compiler."""

from __future__ import annotations

from importlib.metadata import version

from attnspec.adapters.builtin.composing import composed
from attnspec.adapters.tensors.libraries import import_library

__all__ = ["adapter"]

import_library("tinygrad", adapter="tinygrad")
adapter = composed(__name__, name="tinygrad", version=version("tinygrad"), dtypes=("float64", "float32", "bfloat16"))
