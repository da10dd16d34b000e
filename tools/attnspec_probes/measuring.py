"""From the failures of a run to the laws that an implementation follows; how one is measured is its family's to say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.base.extensions import loaded
from attnspec.contract import OPERATIONS
from attnspec.runner.result import Law, Measured
from attnspec_probes.probe_calls import Calling, OutOfCallsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attnspec.contract.implementation import Implementation
    from attnspec.runner import Result

MOST_CALLS = 300
"""A clean pass of all probes takes fewer; a law that takes more is not worth them."""

_LAWS: Mapping[str, str] = {"attention": "attnspec_probes.attention:laws"}
"""Family to the function that gives laws, from an implementation that may be called and all results of an operation."""

_LEAST_SECONDS = 0.2
"""The time that a run of a case or two leaves for probes."""


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
    for place, operation in enumerate(wrong):
        laws_of = _LAWS.get(OPERATIONS[operation].family)
        if laws_of is None:
            continue
        own = [result for result in results if result.case.operation == operation]
        # Probes never take longer than the cases did.
        seconds = max(_LEAST_SECONDS, sum(result.seconds for result in own))
        calling = Calling(implementation, (MOST_CALLS - calls) // (len(wrong) - place), seconds)
        try:
            for measured_law in loaded(laws_of)(calling, own):
                law = _in_plain_values(measured_law)
                laws.append(law)
                if found is not None:
                    found(law, calls + calling.calls)
        except OutOfCallsError:
            pass
        calls += calling.calls
    return Measured(tuple(laws), calls)


def _in_plain_values(law: Law) -> Law:
    """Return a law whose numbers are Python's own: a journal in a file holds nothing that has to be looked up."""
    plain = {name: value if isinstance(value, str) else float(value) for name, value in law.parameters.items()}
    return replace(law, parameters=plain)
