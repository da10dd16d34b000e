"""The built-in adapter `transformers`: Hugging Face Transformers, as its models run where nobody chooses."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

transformers = import_library("transformers", adapter="transformers")
adapter = composed(__name__, name="transformers", version=str(transformers.__version__), dtypes=FLOAT_DTYPES)
