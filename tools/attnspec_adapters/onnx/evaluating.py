"""Running a model in the reference evaluator of the ONNX package, which is made once a model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

reference = import_library("onnx.reference", adapter="onnx")


def run_model(model: bytes, inputs: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Return the outputs of a serialized model, in its order."""
    return _evaluator(model).run(None, dict(inputs))


@cache
def _evaluator(model: bytes) -> Any:
    return reference.ReferenceEvaluator(model)
