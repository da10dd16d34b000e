"""Failing cases as probes: reduced to the plainest call that still goes wrong, called again, and changed in one thing.

One optional argument after the other is left out. Results may depend on what they must not, too: how an input lies in
memory, or earlier calls.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.quantized import is_quantized
from attnspec_probes.attention.single_laws.probe import OPERATION, Probe, resized

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.runner import Result
    from attnspec_probes import Calling


_LEFT_OUT_FIRST = (
    "query_lengths",
    "key_lengths",
    "sinks",
    "alibi_slopes",
    "softcap",
    "window",
    "mask",
    "past_key",
    "scale",
    "is_causal",
    "causal_alignment",
)
"""Optional arguments, those that move others last: without causality, alignment and past say little."""

_NOTHING = np.zeros(0)
"""Stands for an output that did not come back."""

_OF_NUMBERS = ("values", "shape", "repeatable")
"""Checks that look at numbers."""

_LARGEST = 20_000
"""Dot products of a case from which probes are made; larger ones take the time of many."""


class Start(NamedTuple):
    """A failing case, as a probe, and the output that came back."""

    case: str
    dtype: str
    probe: Probe
    memory_order: Mapping[str, str]
    got: NDArray[Any]


def starts(results: Sequence[Result]) -> list[Start]:
    """Return the failing cases whose output is wrong by more than rounding, or did not come, the plainest first."""
    failing = [result for result in results if result.status == "fail" and result.verdict.check in _OF_NUMBERS]
    wrong = [
        start
        for start in _ordered(failing)
        if start.got.shape != start.probe.output.shape or start.probe.wrong(start.got, start.dtype).any()
    ]
    # Where nothing but errors comes back, the arguments that a call needs for one show as much.
    return wrong or _ordered([result for result in results if result.status == "error"])


def passes(results: Sequence[Result]) -> list[Start]:
    """Return the passing cases that can be compared with a law, the plainest first."""
    return _ordered([result for result in results if result.status == "pass"])


def _ordered(results: Sequence[Result]) -> list[Start]:
    found: list[tuple[tuple[bool, int, int, str], Start]] = []
    for result in results:
        case = result.case
        # Laws are compared with numbers that are as wide as the run.
        if case.operation != OPERATION or case.rejects is not None or is_quantized(case.inputs):
            continue
        products = _products(case)
        if not 0 < products <= _LARGEST:
            continue
        probe = probe_of(result)
        if probe.is_finite and probe.live.any():
            got = _NOTHING if result.got is None else result.got.get("output", _NOTHING).astype(np.float64)
            start = Start(case.id, result.dtype, probe, case.memory_order, got)
            found.append(((not probe.is_moderate, len(probe.arguments), products, case.id), start))
    return [start for _, start in sorted(found, key=lambda entry: entry[0])]


def _products(case: Case) -> int:
    """Return how many products the scores of a case take."""
    query, key = case.inputs["query"].shape, case.inputs["key"].shape
    past = case.inputs["past_key"].shape[2] if "past_key" in case.inputs else 0
    return int(np.prod(query)) * (key[2] + past)


def probe_of(result: Result) -> Probe:
    """Return the call of a case."""
    return Probe(result.case.inputs, result.case.attributes)


def reduced(probe: Probe, calling: Calling, dtype: str) -> Probe:
    """Leave out every optional argument without which the failing call still goes wrong."""
    for argument in _LEFT_OUT_FIRST:
        if argument not in probe.arguments:
            continue
        smaller = probe.without(argument)
        if smaller.live.any() and smaller.fails(calling, dtype):
            probe = smaller
    return probe


_EXTENTS = ((19, 31), (23, 37))
"""Queries and new keys of calls such as no case has, so that nothing was kept of them."""


def requested_again(start: Start, calling: Calling) -> bool:
    """Call with a failing case once more, in its own dtype and memory layout; return whether it fails again."""
    answer = calling(OPERATION, start.dtype, start.probe.inputs, start.probe.attributes, start.memory_order)
    return bool(start.probe.wrong(start.probe.output_in(answer), start.dtype).any())


def follows_earlier_calls(start: Start, calling: Calling, index: int) -> bool:
    """Return whether a case that fails again is right at extents never used, and wrong there once something is changed.

    `index` is one of the extents; those of other indices were used.
    """
    fresh = resized(start.probe, *_EXTENTS[index])
    if fresh.fails(calling, start.dtype):
        return False
    queries, keys = _EXTENTS[index]
    for changed in _changed(fresh):
        output = changed.ask(calling, start.dtype)
        # What is not offered gives no output, whatever was kept.
        if output is None or not changed.wrong(output, start.dtype).any():
            continue
        # The changed call may go wrong by itself: with one key more, of which nothing was kept, it then does, too.
        if not resized(changed, queries, keys + 1).fails(calling, start.dtype):
            return True
    return False


def _changed(probe: Probe) -> Generator[Probe]:
    """Give the call with one thing changed that its result depends on."""
    inputs, attributes = probe.inputs, probe.attributes
    yield probe.given(query=inputs["query"][:, :, ::-1].copy())
    yield probe.given(key=-inputs["key"])
    yield probe.given(value=-inputs["value"])
    if "mask" in inputs:
        yield probe.given(mask=np.roll(inputs["mask"], 1, axis=-1))
    for name in ("sinks", "alibi_slopes"):
        if name in inputs:
            yield probe.given(**{name: 2 * inputs[name]})
    for name in ("key_lengths", "query_lengths"):
        if name in inputs:
            yield probe.given(**{name: np.maximum(inputs[name] - 1, 1)})
    if attributes.get("window"):
        yield probe.said(window=[None if side is None else side + 1 for side in attributes["window"]])
    if attributes.get("softcap"):
        yield probe.said(softcap=2 * attributes["softcap"])
    yield probe.said(scale=0.7 * probe.scale)
    yield probe.said(is_causal=not attributes.get("is_causal", False))
    if "key_lengths" not in inputs and not probe.past:
        yield probe.given(key_lengths=np.full(probe.shape[0], probe.shape[3] // 2))
    for name in ("sinks", "alibi_slopes"):
        if name not in inputs:
            yield probe.given(**{name: np.linspace(0.5, 1.0, probe.shape[1])})
    if "mask" not in inputs:
        # Every third key is excluded, of other queries other ones.
        diagonals = np.add.outer(np.arange(probe.shape[2]), np.arange(probe.shape[3]))
        yield probe.given(mask=diagonals % 3 > 0)
