"""Running a model in ONNX Runtime on a CPU, in a session that is made once a model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

runtime = import_library("onnxruntime", adapter="onnxruntime")


def run_model(model: bytes, inputs: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Return the outputs of a serialized model, in its order."""
    return _session(model).run(None, dict(inputs))


@cache
def _session(model: bytes) -> Any:
    options = runtime.SessionOptions()
    # Refusals are answered to the caller; by default they are logged to stderr as well.
    options.log_severity_level = 4
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
