"""The built-in adapter `keras`: Keras on its PyTorch backend, on a CPU."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_adapters.composing import composed
from attnspec_adapters.keras.backend import keras

__all__ = ["adapter"]

adapter = composed(__name__, name="keras", version=str(keras.__version__), dtypes=FLOAT_DTYPES)
