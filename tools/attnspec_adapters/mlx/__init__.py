"""The built-in adapter `mlx`: MLX on a CPU."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

mlx = import_library("mlx.core", adapter="mlx")
adapter = composed(__name__, name="mlx", version=str(mlx.__version__), dtypes=FLOAT_DTYPES)
