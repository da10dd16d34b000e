"""The built-in adapter `flax`: Flax NNX on a CPU."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

flax = import_library("flax", adapter="flax")
adapter = composed(__name__, name="flax", version=str(flax.__version__), dtypes=FLOAT_DTYPES)
