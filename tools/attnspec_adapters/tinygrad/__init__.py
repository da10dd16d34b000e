"""The built-in adapter `tinygrad`: tinygrad in its interpreter, which needs no compiler."""

from __future__ import annotations

from importlib.metadata import version

from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

import_library("tinygrad", adapter="tinygrad")
adapter = composed(__name__, name="tinygrad", version=version("tinygrad"), dtypes=("float64", "float32", "bfloat16"))
