"""The built-in adapter `keras`: Keras on its PyTorch backend, on a CPU."""

from __future__ import annotations

from attnspec.adapters.builtin.composing import composed
from attnspec.adapters.builtin.keras.backend import keras
from attnspec.dtypes import FLOAT_DTYPES

__all__ = ["adapter"]

adapter = composed(__name__, name="keras", version=str(keras.__version__), dtypes=FLOAT_DTYPES)
