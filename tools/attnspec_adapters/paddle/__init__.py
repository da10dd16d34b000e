"""The built-in adapter `paddle`: PaddlePaddle on a CPU."""

from __future__ import annotations

from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

paddle = import_library("paddle", adapter="paddle")
adapter = composed(__name__, name="paddle", version=str(paddle.__version__), dtypes=("float64", "float32"))
