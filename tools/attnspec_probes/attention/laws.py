"""The laws that a black box follows, from the cases at which it fails."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnspec.families.attention.steps.quantized import is_quantized
from attnspec.runner.result import Law
from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import ARGUMENTS, READ_ELSEWHERE, UNREAD, Finding, part
from attnspec_probes.attention.from_keys import from_placing
from attnspec_probes.attention.from_mask_axes import from_mask_axes
from attnspec_probes.attention.from_reading import from_reading
from attnspec_probes.attention.looking import look
from attnspec_probes.attention.single_laws.probe import OPERATION, Probe, resized
from attnspec_probes.attention.single_laws.reducing import (
    Start,
    follows_earlier_calls,
    passes,
    probe_of,
    reduced,
    requested_again,
    starts,
)

if TYPE_CHECKING:
    from attnspec.runner import Result
    from attnspec_probes import Calling

_STARTS = 3
"""Failing cases of different arguments tried for a law; a mistake that none shows plainly is reported by its cases."""

_COMPARED = 24
"""Cases that are compared with a law, of those that fail and of those that pass."""

_MOST_OTHERS = 0.5
"""The share of other failing cases that a law must predict to be the law. The others may go wrong by further rules."""

_NEARLY_ALL = 0.9
"""The share of passing cases that a law may not break."""


_SURE_IN_LAYOUTS = (UNREAD, READ_ELSEWHERE, "scale", "cap", "distance", "features", "rounding", "large logits", "dtype")
"""Kinds of laws that name a clause in a layout, too. The others may come of tokens that stand elsewhere there: a value
that is read at a wrong position looks like a mass, or like other weights."""

_WIDE = ("float64", "float32")
"""Dtypes that show laws; in narrower ones, only arguments are distinguished."""

_FRESH = (11, 13)
"""Queries and new keys of a call in which a law is looked at once more, where no other case fails alike."""

_TURNS = 3
"""How often a failing case is called again in a layout, which chooses anew each time what must not be read."""


class Agreement(NamedTuple):
    """How many cases agree with a law, of those that it says something about."""

    agree: int
    seen: int


def laws(calling: Calling, results: Sequence[Result]) -> Generator[Law]:
    """Measure the computation of an implementation that stands for scaled dot-product attention, in its layout.

    Raises `OutOfCallsError` if no call is left.
    """
    for law in _laws(calling, results):
        named = clauses.in_layout(law.clauses, results[0].run.layout, is_sure=law.kind in _SURE_IN_LAYOUTS)
        yield replace(law, clauses=named)


def _laws(calling: Calling, results: Sequence[Result]) -> Generator[Law]:
    """Measure it, with the clauses of the contract's own form."""
    if not results or results[0].case.operation != OPERATION:
        return
    failing = starts(results)
    if not failing:
        rows = _of_rows_without_keys(results)
        if rows is not None:
            yield rows
        return
    layout = results[0].run.layout
    elsewhere = _of_reading(failing[0], layout, calling)
    memory = elsewhere or _of_memory(failing, calling, layout)
    if memory is not None:
        yield memory
        return
    dtypes = {start.dtype for start in failing}
    passing = [start for start in passes(results) if start.dtype in dtypes and _shows_weights(start.probe)]
    best: Law | None = None
    for start in _unlike(failing):
        dtype = _widest(start, calling)
        if dtype is None:
            continue
        plainest = reduced(start.probe, calling, dtype)
        findings = look(plainest, calling, dtype) if dtype in _WIDE else [part(plainest)]
        law = _best(findings, plainest, start, failing, passing, calling)
        if law is None or not law.is_found:
            of_axes = from_mask_axes(failing, passing) if "mask" in plainest.arguments else None
            law = law if of_axes is None else _law(of_axes, start, 0)
        if law is None:
            said = (from_placing(plainest, calling, dtype) if dtype in _WIDE else None) or _any_of(findings, plainest)
            law = _law(said, start, 0, is_upheld=_is_upheld(said, plainest, start, failing, passing))
        if best is None or (law.is_found, law.confirmed) > (best.is_found, best.confirmed):
            best = law
        if law.is_found and law.confirmed:
            break
    found = best or _of_dtype(failing, calling)
    if found is not None:
        yield found


def _shows_weights(probe: Probe) -> bool:
    """Return whether other weights would give another output: not where a head's values are all alike."""
    return bool(np.ptp(probe.value, axis=2).any())


def _is_alike(other: Probe, plainest: Probe) -> bool:
    """Return whether a call has all that another needs to go wrong: its arguments, with masks of the same kind."""
    alignment = "causal_alignment"
    return (
        other.arguments >= plainest.arguments
        and other.has_float_mask is plainest.has_float_mask
        and other.attributes.get(alignment, "top_left") == plainest.attributes.get(alignment, "top_left")
    )


def _of_rows_without_keys(results: Sequence[Result]) -> Law | None:
    """Return that rows without keys alone are wrong, where they are."""
    for result in results:
        if result.status != "fail" or result.verdict.check != "values" or "output" not in (result.got or {}):
            continue
        if is_quantized(result.case.inputs):
            continue
        assert result.got is not None
        probe = probe_of(result)
        output = result.got["output"]
        dead = probe.counted & ~probe.live
        if not probe.is_finite or output.shape[:3] != dead.shape or not dead.any():
            continue
        if output[dead].any() and not probe.wrong(output.astype(np.float64), result.dtype).any():
            name = "sinks.fully_masked_row" if "sinks" in probe.inputs else "fully_masked_row"
            given = output[dead][output[dead] != 0].ravel()[0]
            reported = f"Queries that count and may attend to no key are wrong, and no others: {given:.4g}, expected 0."
            start = Start(result.case.id, result.dtype, probe, {}, output)
            return _law(Finding("rows without keys", clauses.clauses((name,)), reported), start, 0)
    return None


def _best(
    findings: Sequence[Finding],
    plainest: Probe,
    start: Start,
    failing: Sequence[Start],
    passing: Sequence[Start],
    calling: Calling,
) -> Law | None:
    """Return the law that the other cases confirm best; None where they speak against all."""

    def alike(starts: Sequence[Start]) -> list[Start]:
        return [other for other in starts if other is not start and _is_alike(other.probe, plainest)]

    wrongs, rights = alike(failing), alike(passing)
    agreeing: list[tuple[Finding, Agreement]] = []
    for finding in findings:
        if finding.kind == ARGUMENTS:
            continue
        wrong, right = _compared(finding, wrongs), _compared(finding, rights)
        if wrong.agree >= _MOST_OTHERS * wrong.seen and right.agree >= _NEARLY_ALL * right.seen:
            agreeing.append((finding, wrong))
    if not agreeing:
        return None
    # The first of equals: findings come plainest first.
    finding, wrong = max(agreeing, key=lambda entry: entry[1].agree)
    if finding.output is None:
        upheld = _is_upheld(finding, plainest, start, failing, passing)
    else:
        upheld = wrong.agree > 0 or _gives_a_fresh_call(finding, plainest, calling, start.dtype)
    return _law(finding, start, wrong.agree, is_upheld=upheld)


def _is_upheld(
    finding: Finding, plainest: Probe, start: Start, failing: Sequence[Start], passing: Sequence[Start]
) -> bool:
    """Return whether what was found in one call says of other cases, too, which go wrong and which do not."""

    def fails(of: Probe) -> bool | None:
        return _is_alike(of, plainest) if finding.fails is None else finding.fails(of)

    def said(starts: Sequence[Start]) -> list[bool]:
        others = (fails(other.probe) for other in starts if other is not start)
        return [each for each in others if each is not None]

    wrongs, rights = said(failing), said(passing)
    return any(wrongs) and sum(wrongs) >= _MOST_OTHERS * len(wrongs) and sum(rights) <= (1 - _NEARLY_ALL) * len(rights)


def _gives_a_fresh_call(finding: Finding, plainest: Probe, calling: Calling, dtype: str) -> bool:
    """Return whether a law gives what comes back at extents at which it was not found."""
    fresh = resized(plainest, *_FRESH)
    given = None if finding.output is None else finding.output(fresh)
    output = fresh.ask(calling, dtype)
    if given is None or output is None or given.shape != output.shape:
        return False
    with np.errstate(invalid="ignore"):
        return bool((np.abs(given - output)[fresh.live] <= 4 * fresh.slack(dtype)).all())


def _any_of(findings: Sequence[Finding], plainest: Probe) -> Finding:
    """Return the clauses that a call may break, those first about which something was found."""
    named = (clause for finding in findings for clause in finding.clauses)
    reported = part(plainest)
    return replace(reported, clauses=tuple(dict.fromkeys((*named, *reported.clauses))))


def _of_memory(failing: Sequence[Start], calling: Calling, layout: str | None) -> Law | None:
    """Return what the results depend on that they must not: memory layout, or earlier calls."""
    first = failing[0]
    turns = 1 if layout is None else _TURNS
    again = [[requested_again(start, calling) for _ in range(turns)] for start in failing[:2]]
    unread = clauses.of_unread(layout)
    if unread is not None and any(any(fails) and not all(fails) for fails in again):
        reported = "The same call is right at one time and wrong at another: it depends on what must not be read."
        return _law(Finding(UNREAD, (unread,), reported), first, 0)
    if not any(map(any, again)):
        reported = (
            "What failed among the cases is right when it is called by itself: it depends on what was computed before."
        )
        return _law(Finding("earlier calls", clauses.clauses(("repeatable",)), reported), first, 0)
    if all(start.memory_order for start in failing[:8]) and not first.probe.fails(calling, first.dtype):
        reported = (
            f"It goes wrong where an input lies in memory as {', '.join(sorted(set(first.memory_order.values())))}."
        )
        return _law(Finding("memory layout", clauses.clauses(("memory_layout",)), reported), first, 0)
    if any(follows_earlier_calls(start, calling, index) for index, start in enumerate(failing[:2])):
        reported = "It is right at extents that were never used, and wrong when they come again with other numbers."
        return _law(Finding("earlier calls", clauses.clauses(("repeatable",)), reported), first, 0)
    return None


def _of_reading(start: Start, layout: str | None, calling: Calling) -> Law | None:
    """Return that a layout is read where other keys or values stand, which makes all numbers look like anything."""
    dtype = next((dtype for dtype in _WIDE if dtype in calling.dtypes), None)
    found = None if dtype is None or start.memory_order else from_reading(start.probe, layout, calling, dtype)
    return None if found is None else _law(found, start, 0)


def _unlike(failing: Sequence[Start]) -> list[Start]:
    """Return the plainest failing cases of different arguments."""
    found: dict[frozenset[str], Start] = {}
    for start in failing:
        found.setdefault(start.probe.arguments, start)
    return list(found.values())[:_STARTS]


def _widest(start: Start, calling: Calling) -> str | None:
    """Return the widest dtype in which a failing case goes wrong; None where it does in its own alone of several."""
    wide = [dtype for dtype in _WIDE if dtype in calling.dtypes]
    for dtype in wide or [start.dtype]:
        if start.probe.fails(calling, dtype):
            return dtype
    return None


def _of_dtype(failing: Sequence[Start], calling: Calling) -> Law | None:
    """Return that narrow dtypes alone go wrong, where a wider one is offered, in which the same cases were right."""
    dtypes = sorted({start.dtype for start in failing})
    wider = [dtype for dtype in _WIDE if dtype in calling.dtypes and dtype not in dtypes]
    if not wider:
        return None
    reported = f"It goes wrong in {' and '.join(dtypes)}, and not in {' and '.join(wider)}."
    return _law(
        Finding("dtype", clauses.clauses(("precision.accumulation", "softmax.stability")), reported), failing[0], 0
    )


def _compared(finding: Finding, starts: Sequence[Start]) -> Agreement:
    """Compare what a law gives with what came back in other cases."""
    agree = seen = 0
    for start in starts[:: max(1, len(starts) // _COMPARED)]:
        given = None if finding.output is None else finding.output(start.probe)
        if given is None or given.shape != start.got.shape:
            continue
        with np.errstate(invalid="ignore"):
            near = np.abs(given - start.got)[start.probe.live] <= 4 * start.probe.slack(start.dtype)
        seen += 1
        agree += bool(near.all())
    return Agreement(agree, seen)


def _law(finding: Finding, start: Start, confirmed: int, *, is_upheld: bool = True) -> Law:
    """Return a finding as a law; nothing is said of one that other cases do not uphold, which is a suspicion alone."""
    said = finding.sentence if is_upheld else ""
    return Law(OPERATION, finding.kind, finding.clauses, said, dict(finding.parameters), start.case, confirmed)
