"""Which keys queries attend, as a law: one constraint left out, shifted, or placed otherwise."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.attendance import positions
from attnspec_probes.attention.single_laws.probe import Probe, Reading, read

if TYPE_CHECKING:
    from attnspec_probes import Calling

_NO_WEIGHT = 1e-13
"""A share of the largest weight of its row below this is none: probes keep logits closer together than 25."""

_MOST = 16
"""Laws that give the keys of one probe; other cases show which of them holds."""

_NUMBERS = 64
"""Numbers of a mask that are tried as thresholds; probes have few."""

_REFINEMENTS, _LIMITS = 3, 60
"""Rounds, and numbers in each, in which a threshold is made exact: to a three-thousandth of what lies between two."""


@dataclass(frozen=True)
class AttendedLaw:
    """The keys attended by a law: of any probe, or None where it says nothing of it; `change` puts it in words.

    `constraint` is the one that differs: ``mask``, ``causal``, ``left``, ``right``, ``lengths``, ``keys``; ``position``
    for all that positions decide. `adds_mask`: the numbers of a mask are added beside it.
    """

    constraint: str
    change: str
    parameters: Mapping[str, float | str]
    attended: Callable[[Probe], NDArray[np.bool_] | None]
    adds_mask: bool = True


Constraints = dict[str, NDArray[np.bool_]]
_OF_POSITION = ("causal", "left", "right")
"""The constraints that positions decide."""


def attended_in(reading: Reading) -> NDArray[np.bool_]:
    """Return which keys came back with a weight."""
    weights = reading.weights
    largest = np.where(np.isfinite(weights), np.abs(weights), 0.0).max(axis=-1, keepdims=True, initial=0.0)
    return ~(np.abs(weights) <= _NO_WEIGHT * largest) & (largest > 0)


def constraints_of(probe: Probe, offset: NDArray[np.int64] | int | None = None) -> Constraints:
    """Return what each constraint of a probe leaves, which broadcasts; positions may be placed otherwise."""
    offset = probe.placing.offset if offset is None else offset
    columns = np.arange(probe.shape[-1])
    ahead = columns - positions(probe.shape[2], offset)
    found: Constraints = {}
    mask = probe.inputs.get("mask")
    if mask is not None:
        found["mask"] = mask if mask.dtype == np.bool_ else mask != -np.inf
    if probe.attributes.get("is_causal"):
        found["causal"] = ahead <= 0
    left, right = probe.attributes.get("window") or (None, None)
    if left is not None:
        found["left"] = ahead >= -left
    if right is not None:
        found["right"] = ahead <= right
    if "key_lengths" in probe.inputs:
        found["lengths"] = columns < probe.inputs["key_lengths"].reshape(-1, 1, 1, 1)
    return found


def together(probe: Probe, constraints: Constraints) -> NDArray[np.bool_]:
    """Return which keys all constraints leave."""
    attended = np.ones(probe.shape, dtype=np.bool_) & probe.counted[..., np.newaxis]
    for allowed in constraints.values():
        attended = attended & allowed
    return attended


def attended_laws(reading: Reading) -> list[AttendedLaw]:
    """Return the laws that give the keys that were attended, the plainest first.

    They must fit the rows that count and should attend to a key.
    """
    return list(islice(holding(_laws(reading.probe), reading), _MOST))


def holding(laws: Iterable[AttendedLaw], reading: Reading) -> Generator[AttendedLaw]:
    """Give those of some laws that give the keys that were attended."""
    attended, live = attended_in(reading), reading.probe.live
    for law in laws:
        given = law.attended(reading.probe)
        if given is not None and (given == attended)[live].all():
            yield law


def refined(law: AttendedLaw, probe: Probe, calling: Calling, dtype: str) -> AttendedLaw:
    """Return a law with the threshold of a mask made exact, by masks of many numbers; another law as it is."""
    if "threshold" not in law.parameters:
        return law
    numbers = np.unique(probe.inputs["mask"])
    low = float(law.parameters["threshold"])
    above = numbers[numbers > low]
    limit = threshold(low, float(above[0]), calling, dtype) if len(above) else None
    return law if limit is None else above_threshold(limit, adds_mask=law.adds_mask)


def threshold(low: float, high: float, calling: Calling, dtype: str) -> float | None:
    """Return the number between two up to which numbers of a mask exclude; None where they do not."""
    for _ in range(_REFINEMENTS):
        limits = np.linspace(low, high, _LIMITS)
        reading = read(of_mask(limits), calling, dtype)
        if reading is None:
            return None
        attended = attended_in(reading)[0, 0, 0]
        if attended.all() or not attended.any() or limits[~attended].max() > limits[attended].min():
            return None
        low, high = float(limits[~attended].max()), float(limits[attended].min())
    return (low + high) / 2


def of_mask(numbers: NDArray[Any]) -> Probe:
    """Return a call of one query whose keys differ by their mask alone."""
    zeros = np.zeros((1, 1, len(numbers), 1))
    value = np.linspace(-1.0, 1.0, len(numbers)).reshape(zeros.shape)
    return Probe({"query": zeros[:, :, :1], "key": zeros, "value": value, "mask": numbers.reshape(1, 1, 1, -1)}, {})


def above_threshold(limit: float, *, adds_mask: bool) -> AttendedLaw:
    """Return the law by which a float mask excludes all numbers up to a limit."""

    def above(of: Probe, _: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return of.inputs["mask"] > limit

    change = f"excludes numbers up to {limit:.6g}{'' if adds_mask else ', and adds none'}"
    return replace(_changed("mask", change, {"threshold": limit}, above), adds_mask=adds_mask)


def blamed(reading: Reading) -> tuple[str, ...]:
    """Return the constraints that exclude all keys which were attended beyond the expected ones."""
    probe = reading.probe
    beyond = attended_in(reading) & ~probe.placing.attendable & probe.live[..., np.newaxis]
    if not beyond.any():
        return ()
    full = {name: np.broadcast_to(allowed, probe.shape) for name, allowed in constraints_of(probe).items()}
    return tuple(name for name, allowed in full.items() if not allowed[beyond].any())


def _laws(probe: Probe) -> Generator[AttendedLaw]:
    present = constraints_of(probe)
    for name in present:
        yield _changed(name, "left out", {}, lambda _, allowed: np.ones_like(allowed))
    yield from _offsets(probe)
    for name in _OF_POSITION:
        if name in present:
            yield from _shifts(probe, name)
    if "mask" in present:
        yield from _masks(probe)
    if "lengths" in present:
        yield from _lengths(probe)
    if {"left", "right"} & present.keys():
        yield from _windows(probe)
    yield from _cut(probe)


def _changed(
    name: str,
    change: str,
    parameters: Mapping[str, float | str],
    of: Callable[[Probe, NDArray[np.bool_]], NDArray[np.bool_] | None],
) -> AttendedLaw:
    """Return the law in which one constraint is another one."""

    def attended(probe: Probe) -> NDArray[np.bool_] | None:
        constraints = constraints_of(probe)
        if name not in constraints:
            return None
        allowed = of(probe, constraints[name])
        return None if allowed is None else together(probe, {**constraints, name: allowed})

    return AttendedLaw(name, change, parameters, attended)


def _offsets(probe: Probe) -> Generator[AttendedLaw]:
    """Give the laws in which the queries stand elsewhere: at an index of the arrays, or some positions off."""
    starts: dict[str, Callable[[Probe], Any]] = {
        "the first key of all": lambda _: 0,
        "the first new key": lambda of: of.past,
        "the end of the array": lambda of: of.shape[3] - of.shape[2],
        "the end of the new keys": lambda of: of.shape[3] - of.past - of.shape[2],
        "the last key that counts, all queries counted": lambda of: _lengths_of(of, "key_lengths", 3) - of.shape[2],
        "the end of the array, queries that count alone": lambda of: of.shape[3] - _lengths_of(of, "query_lengths", 2),
        "the last key that counts, queries that count alone": lambda of: (
            _lengths_of(of, "key_lengths", 3) - _lengths_of(of, "query_lengths", 2)
        ),
    }
    names = [name for name in _OF_POSITION if name in constraints_of(probe)]
    if not names:
        return
    for only in [names, *([name] for name in names if len(names) > 1)]:
        for start, offset in starts.items():

            def attended(of: Probe, *, only: list[str] = only, offset: Any = offset) -> NDArray[np.bool_]:
                moved = constraints_of(of, offset(of))
                return together(of, {**constraints_of(of), **{name: moved[name] for name in only if name in moved}})

            what = "position" if only is names else only[0]
            yield AttendedLaw(what, f"queries stand at {start}", {"place": start}, attended)
    for off in probe.offsets if len(names) > 1 else ():

        def shifted(of: Probe, *, off: int = off) -> NDArray[np.bool_]:
            moved = constraints_of(of, of.placing.offset + off)
            return together(of, constraints_of(of) | {name: moved[name] for name in _OF_POSITION if name in moved})

        yield AttendedLaw("position", f"queries stand {off:+d} off", {"offset": off}, shifted)


def _lengths_of(probe: Probe, name: str, axis: int) -> Any:
    lengths = probe.inputs.get(name)
    return probe.shape[axis] if lengths is None else lengths.reshape(-1, 1, 1, 1)


def _shifts(probe: Probe, name: str) -> Generator[AttendedLaw]:
    """Give the laws in which a bound lies some keys off."""
    for off in probe.offsets:

        def shifted(of: Probe, _: NDArray[np.bool_], *, off: int = off) -> NDArray[np.bool_]:
            towards = -off if name == "left" else off
            return constraints_of(of, of.placing.offset + towards)[name]

        yield _changed(name, f"{off:+d} keys off", {"offset": off}, shifted)


def _of_heads(allowed: NDArray[np.bool_], of: Probe, *, back: bool) -> NDArray[np.bool_] | None:
    """Return a mask whose heads are taken in the order of key heads within a group, or back from it."""
    if allowed.ndim < 3 or allowed.shape[-3] != of.shape[1]:
        return None
    order = np.arange(of.shape[1]).reshape(of.key_heads, -1).T.ravel()
    return allowed[..., order.argsort() if back else order, :, :]


_MASK_AXES: dict[str, Callable[[Probe, NDArray[np.bool_]], NDArray[np.bool_] | None]] = {
    "that of the first query for all": lambda _, allowed: allowed[..., :1, :],
    "that of the first head for all": lambda _, allowed: allowed[..., :1, :, :] if allowed.ndim > 2 else None,
    "that of the last head for all": lambda _, allowed: allowed[..., -1:, :, :] if allowed.ndim > 2 else None,
    "that of the first batch entry for all": lambda _, allowed: allowed[:1] if allowed.ndim == 4 else None,
    "of its first axis as batch": lambda of, allowed: (
        allowed[:, np.newaxis] if allowed.ndim == 3 and allowed.shape[0] in (1, of.shape[0]) else None
    ),
    "of its heads in another order": lambda of, allowed: _of_heads(allowed, of, back=False),
    "of its heads in another order back": lambda of, allowed: _of_heads(allowed, of, back=True),
}


_REMEDIES = {"inverted": "inverted, so that true or 0 hides; hand such code the opposite mask"}
"""Forms of a mask that are usual elsewhere, with what to do beside such code."""


def _masks(probe: Probe) -> Generator[AttendedLaw]:
    """Give the laws in which a mask is read otherwise."""
    forms: dict[str, Callable[[Probe, NDArray[np.bool_]], NDArray[np.bool_] | None]] = {
        "inverted": lambda _, allowed: ~allowed,
        "transposed": lambda _, allowed: allowed.swapaxes(-1, -2) if allowed.shape[-1] == allowed.shape[-2] else None,
        "turned round along the keys": lambda _, allowed: allowed[..., ::-1],
        "turned round along the queries": lambda _, allowed: allowed[..., ::-1, :],
        "one key late": lambda _, allowed: np.roll(allowed, 1, axis=-1),
        "one key early": lambda _, allowed: np.roll(allowed, -1, axis=-1),
    }
    for change, form in forms.items():
        yield _changed("mask", _REMEDIES.get(change, change), {"form": change}, form)
    for change, form in _MASK_AXES.items():
        yield replace(_changed("mask", change, {"form": change}, form), constraint="mask axes")
    if probe.has_float_mask:
        numbers = np.unique(probe.inputs["mask"])
        for limit in numbers[np.isfinite(numbers)][:_NUMBERS]:
            yield above_threshold(float(limit), adds_mask=True)
            yield above_threshold(float(limit), adds_mask=False)


def _lengths(probe: Probe) -> Generator[AttendedLaw]:
    """Give the laws in which lengths are counted otherwise."""

    def counted(lengths: Callable[[Probe, NDArray[Any]], Any]) -> Callable[[Probe, Any], NDArray[np.bool_]]:
        return lambda of, _: (
            np.arange(of.shape[3]) < np.asarray(lengths(of, of.inputs["key_lengths"])).reshape(-1, 1, 1, 1)
        )

    for off in probe.offsets:
        yield _changed("lengths", f"{off:+d} keys off", {"offset": off}, counted(lambda _, all_, off=off: all_ + off))
    named: dict[str, Callable[[Probe, NDArray[Any]], Any]] = {
        "those of the first batch entry for all": lambda _, lengths: lengths[:1],
        "the largest for all": lambda _, lengths: lengths.max(),
        "the smallest for all": lambda _, lengths: lengths.min(),
        "those of the next batch entry": lambda _, lengths: np.roll(lengths, -1),
        "those of the batch entries backwards": lambda _, lengths: lengths[::-1],
        "those of the queries": lambda of, lengths: of.inputs.get("query_lengths", lengths),
    }
    for change, lengths in named.items():
        yield _changed("lengths", change, {"form": change}, counted(lengths))

    def last(of: Probe, _: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.arange(of.shape[3]) >= of.shape[3] - of.inputs["key_lengths"].reshape(-1, 1, 1, 1)

    yield _changed("lengths", "counted from the end", {"form": "counted from the end"}, last)


def _by_window(change: Callable[[list[Any]], list[Any]]) -> Callable[[Probe], NDArray[np.bool_]]:
    """Return which keys are attended with other sides of the window; without a window both are open."""

    def attended(of: Probe) -> NDArray[np.bool_]:
        sides = of.attributes.get("window") or [None, None]
        return together(of, constraints_of(of.said(window=change(sides))))

    return attended


def _windows(probe: Probe) -> Generator[AttendedLaw]:
    """Give the laws in which a window has other sides."""
    exchanged = _by_window(lambda sides: sides[::-1])
    yield AttendedLaw("left", "and the right side exchanged", {}, exchanged)
    for off in probe.offsets:
        wider = _by_window(lambda sides, off=off: [None if side is None else side + off for side in sides])
        given = _where_given(wider)
        yield AttendedLaw("left", f"and the right side extend {off:+d} keys further", {"offset": off}, given)
    open_at_nothing = _by_window(lambda sides: [side or None for side in sides])
    yield AttendedLaw("open_side", "a side of 0 is open", {}, open_at_nothing)
    nothing_where_open = _where_given(_by_window(lambda sides: [side or 0 for side in sides]))
    yield AttendedLaw("open_side", "an open side is 0", {}, nothing_where_open)


def _where_given(attended: Callable[[Probe], NDArray[np.bool_]]) -> Callable[[Probe], NDArray[np.bool_] | None]:
    """Return the law that says nothing of calls without a window."""
    return lambda of: attended(of) if of.attributes.get("window") else None


def _cut(probe: Probe) -> Generator[AttendedLaw]:
    """Give the laws in which keys are lost at an end, as those of a tile that is not full are."""

    def where(kept: Callable[[NDArray[np.int64], int], NDArray[np.bool_]]) -> Callable[[Probe], NDArray[np.bool_]]:
        return lambda of: of.placing.attendable & kept(np.arange(of.shape[3]), of.shape[3])

    keys = probe.shape[3]
    for tile in (tile for tile in range(2, keys + 1) if keys % tile):
        whole = where(lambda index, keys, tile=tile: index < keys // tile * tile)
        yield AttendedLaw("keys", f"a last tile of {tile} that is not full is lost", {"tile": tile}, whole)
    for lost in range(1, keys):
        cut = where(lambda index, keys, lost=lost: index < keys - lost)
        yield AttendedLaw("keys", f"the last {lost} of all keys are lost", {"lost": lost}, cut)
        late = where(lambda index, _, lost=lost: index >= lost)
        yield AttendedLaw("keys", f"the first {lost} of all keys are lost", {"lost": lost}, late)
