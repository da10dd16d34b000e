"""The built-in adapter `jax`: JAX on a CPU."""

from __future__ import annotations

from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

jax = import_library("jax", adapter="jax")
adapter = composed(__name__, name="jax", version=str(jax.__version__), dtypes=("float64", "float32", "bfloat16"))
