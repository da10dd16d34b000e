"""Checks of a layer by itself, each made where its cause alone can be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from attnspec.base.errors import TargetError
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import LayerCheck
from attnspec_modules.attention.checking.cached import cache_check
from attnspec_modules.attention.checking.composed_attention import (
    Array,
    Sample,
    are_alike,
    composed,
    difference,
    rotated_as_they_should,
    sample_of,
)
from attnspec_modules.attention.checking.head_mistakes import group_mistakes, rotary_mistakes
from attnspec_modules.attention.checking.normalized_heads import normalizes_itself, norms_check, norms_of_heads
from attnspec_modules.attention.constructing import has_word
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_reading import Rotation

_OPERATION = "multi_head_attention"

_BEGIN = 3
"""Position of the first token, where it can be another than 0."""

_OTHER_BASE = 300.0
"""Base of rotary positions beside the usual one, for a layer that is made with it."""


class Checked(NamedTuple):
    """Checks of a layer, right or wrong, and in words what was checked."""

    checks: tuple[LayerCheck, ...] = ()
    findings: tuple[str, ...] = ()


def checked(runner_of: Callable[[Rotation | None], LayerRunner]) -> Checked:
    """Return the checks of a layer, for which a runner is made, with a rotation or without."""
    still = runner_of(None)
    reading = still.reading
    found: dict[str, str | None] = {}
    plain = answer_of(still, sample_of(reading))
    if not isinstance(plain, str) and are_alike(plain, composed(sample_of(reading))):
        # What is wrong without them is found by the cases.
        if has_word(still.layer_class, reading.constructor, "kv_heads"):
            found["grouped_heads"] = _grouped_heads(still)
        if reading.rotation is not None:
            found["rotary"] = _rotary(runner_of, reading.rotation, grouped=found.get("grouped_heads") == "")
        found["norms"] = _norms(still if found.get("rotary") != "" else runner_of(reading.rotation))
    elif not isinstance(plain, str) and normalizes_itself(plain, sample_of(reading)):
        raise TargetError(
            f"{still.layer_class.__name__} normalizes queries and keys in its own code, which multi_head_attention "
            "does not, and which cannot be left out. Have modules called q_norm and k_norm do it, or validate the "
            "attention without it"
        )
    if reading.forward.grows is not None:
        found["cache"] = cache_check(still if reading.rotation is None else runner_of(reading.rotation))
    return checks_of(_OPERATION, found, reading.dtypes[0])


def checks_of(operation: str, found: Mapping[str, str | None], dtype: str) -> Checked:
    """Return checks by their names, and what went wrong in them; None for one that could not be made."""
    made = {name: message for name, message in found.items() if message is not None}
    prefix = f"{OPERATIONS[operation].short_name}.layer"
    words = [f"{name.replace('_', ' ')} {'wrong' if message else 'right'}" for name, message in made.items()]
    return Checked(
        tuple(LayerCheck(operation, f"{prefix}.{name}", dtype, message) for name, message in made.items()),
        (f"beside the cases, called by itself: {', '.join(words)}",) if made else (),
    )


def _norms(runner: LayerRunner) -> str | None:
    """Return how norms of queries and keys go wrong; None where there are none."""
    sample = sample_of(runner.reading)
    parts, norms = norms_of_heads(runner, sample)
    return norms_check(runner, sample, answer_of(runner.normalizing(parts), sample), norms) if norms else None


def answer_of(runner: LayerRunner, sample: Sample) -> Array | str:
    """Return the output of a layer, or the words of what it raised."""
    try:
        return runner.run(sample.call, sample.weights, sample.heads)[0]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"it raised {type(error).__name__}: {error}".partition("\n")[0]


def _grouped_heads(still: LayerRunner) -> str | None:
    """Return how heads that share keys go wrong; None where the layer cannot be filled for them."""
    sample = sample_of(still.reading, grouped=True)
    try:
        still.ready(sample.call, sample.weights, sample.heads)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    got, expected = answer_of(still, sample), composed(sample)
    where = f"with {sample.heads} heads of queries and {sample.kv_heads} of keys and values"
    if isinstance(got, str):
        return f"{where} {got}"
    if are_alike(got, expected):
        return ""
    for sentence, share in group_mistakes():
        if are_alike(got, composed(sample, share=share)):
            return f"{where}, {sentence}: {difference(got, expected)}"
    return f"{where}, the output is none of heads of which neighbours share one: {difference(got, expected)}"


def _rotary(runner_of: Callable[[Rotation | None], LayerRunner], rotation: Rotation, *, grouped: bool) -> str | None:
    """Return how rotary positions go wrong."""
    sample = sample_of(runner_of(None).reading, grouped=grouped)
    got, expected = answer_of(runner_of(rotation), sample), composed(sample, rotated_as_they_should(rotation))
    if isinstance(got, str):
        return f"with rotary positions {got}"
    if not are_alike(got, expected):
        return f"{_rotated_otherwise(got, sample, rotation)}: {difference(got, expected)}"
    return _of_another_base(runner_of, rotation, sample) or _of_another_beginning(runner_of(rotation), sample, got)


def _rotated_otherwise(got: Array, sample: Sample, rotation: Rotation) -> str:
    other = "interleaved" if rotation.pairing == "half" else "half"
    for own in (rotation, Rotation(other, rotation.theta)):
        for sentence, turn in rotary_mistakes(own):
            if are_alike(got, composed(sample, turn)):
                return sentence
    return "rotary positions give another output than queries and keys that are rotated, in halves or as neighbours"


def _of_another_base(runner_of: Callable[[Rotation | None], LayerRunner], rotation: Rotation, sample: Sample) -> str:
    """Return how a base is not heeded that the layer is made with."""
    other = Rotation(rotation.pairing, _OTHER_BASE, rotation.share)
    runner = runner_of(other)
    if not has_word(runner.layer_class, runner.reading.constructor, "theta"):
        return ""
    got, expected = answer_of(runner, sample), composed(sample, rotated_as_they_should(other))
    if isinstance(got, str):
        return f"with the base {_OTHER_BASE:g} of rotary positions {got}"
    if are_alike(got, expected):
        return ""
    return f"the base of rotary positions that it is made with is not heeded: {difference(got, expected)}"


def _of_another_beginning(runner: LayerRunner, sample: Sample, expected: Array) -> str:
    """Return how a text goes wrong that begins at another position; only distances count, where nothing is cached."""
    forward = runner.reading.forward
    if forward.position is None or forward.grows is not None:
        return ""
    try:
        got, _ = runner.run(sample.call, sample.weights, sample.heads, begin=_BEGIN)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"from position {_BEGIN} on, it raised {type(error).__name__}: {error}".partition("\n")[0]
    if are_alike(got, expected):
        return ""
    return f"with {forward.position}={_BEGIN} queries and keys are not moved alike: {difference(got, expected)}"
