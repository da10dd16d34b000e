"""From the failures of a run to the laws that an implementation follows; how one is measured is its family's to say."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.extensions import import_object
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import to_run_dtype
from attnspec.contract.implementation import Implementation, Outputs, Request
from attnspec.runner import Result, in_memory_orders
from attnspec.runner.result import Law, Measured


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
        request = Request(operation, dtype, in_memory_orders(arrays, memory_order or {}), deepcopy({**attributes}))
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


MOST_CALLS = 300
"""A clean pass of all probes takes fewer; a law that takes more is not worth them."""

_LAWS: Mapping[str, str] = {"attention": "attnspec_probes.attention:laws"}
"""Family to the function that gives laws, from an implementation that may be called and all results of an operation."""

_LEAST_SECONDS = 0.2
"""The time that a run of a case or two leaves for probes."""


def _quietly(laws: Iterator[Law]) -> Iterator[Law]:
    """Give laws whose search divides by whatever came back: no warning of it is the user's."""
    while True:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            law = next(laws, None)
        if law is None:
            return
        yield law


def measured(
    implementation: Implementation,
    results: Sequence[Result],
    found: Callable[[Law, int], None] | None = None,
) -> Measured:
    """Measure the computation of an implementation, still open, that went wrong; nothing where it did not.

    `found` is called with each law as soon as it is there, and with the calls until then, for the implementation may
    end the process.
    """
    wrong = sorted({result.case.operation for result in results if result.status in ("fail", "error")})
    laws: list[Law] = []
    calls = 0
    for index, operation in enumerate(wrong):
        laws_of = _LAWS.get(OPERATIONS[operation].family)
        if laws_of is None:
            continue
        own = [result for result in results if result.case.operation == operation]
        # Probes never take longer than the cases did.
        seconds = max(_LEAST_SECONDS, sum(result.seconds for result in own))
        calling = Calling(implementation, (MOST_CALLS - calls) // (len(wrong) - index), seconds)
        try:
            for measured_law in _quietly(import_object(laws_of)(calling, own)):
                # Numbers of Python's own: a journal in a file holds nothing that has to be looked up.
                fitted = measured_law.parameters.items()
                plain = {name: value if isinstance(value, str) else float(value) for name, value in fitted}
                law = replace(measured_law, parameters=plain)
                laws.append(law)
                if found is not None:
                    found(law, calls + calling.calls)
        except OutOfCallsError:
            pass
        calls += calling.calls
    return Measured(tuple(laws), calls)
