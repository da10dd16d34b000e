"""Asking an implementation more than the cases do, within bounds."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract.dtypes import to_run_dtype
from attnspec.contract.implementation import Outputs, Request
from attnspec.runner import in_memory_orders, own_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.contract.implementation import Implementation


class OutOfCallsError(Exception):
    """No further call is allowed."""


class Calling:
    """An implementation that may be called so many times, and for so many seconds together."""

    def __init__(self, implementation: Implementation, calls: int, seconds: float) -> None:
        self._implementation = implementation
        self._allowed = calls
        self._seconds = seconds
        self.calls = 0

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that the implementation offers."""
        return self._implementation.declaration.dtypes

    def __call__(
        self,
        operation: str,
        dtype: str,
        inputs: Mapping[str, NDArray[Any]],
        attributes: Mapping[str, Any],
        memory_order: Mapping[str, str] | None = None,
    ) -> Mapping[str, NDArray[Any]] | None:
        """Return the outputs of a call in float64, None where none come; arrays go in as float64, bool or int64.

        `memory_order` maps an input to its memory layout. Raises `OutOfCallsError` if no call is left.
        """
        if self.calls >= self._allowed or self._seconds <= 0:
            raise OutOfCallsError
        self.calls += 1
        arrays = {name: to_run_dtype(array, dtype) for name, array in inputs.items()}
        request = Request(operation, dtype, in_memory_orders(arrays, memory_order or {}), own_attributes(attributes))
        start = perf_counter()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = self._implementation.run(request)
        # The first call may have to start a process.
        if self.calls > 1:
            self._seconds -= perf_counter() - start
        if not isinstance(answer, Outputs):
            return None
        return {name: array.astype(np.float64) for name, array in answer.values.items()}
