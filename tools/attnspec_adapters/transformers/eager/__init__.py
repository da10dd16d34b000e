"""The built-in adapter `transformers-eager`: attention that is written out in the models of Transformers."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

transformers = import_library("transformers", adapter="transformers-eager")
adapter = composed(__name__, name="transformers, eager", version=str(transformers.__version__), dtypes=FLOAT_DTYPES)
