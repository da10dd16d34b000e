"""The built-in adapter `paddle`: PaddlePaddle on a CPU."""

from __future__ import annotations

from attnspec.adapters.builtin.composing import composed
from attnspec.adapters.tensors.libraries import import_library

__all__ = ["adapter"]

paddle = import_library("paddle", adapter="paddle")
adapter = composed(__name__, name="paddle", version=str(paddle.__version__), dtypes=("float64", "float32"))
