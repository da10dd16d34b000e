"""The built-in adapter `openvino`: OpenVINO on a CPU."""

from __future__ import annotations

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import composed

__all__ = ["adapter"]

openvino = import_library("openvino", adapter="openvino")
adapter = composed(__name__, name="openvino", version=str(openvino.__version__).partition("-")[0], dtypes=FLOAT_DTYPES)
