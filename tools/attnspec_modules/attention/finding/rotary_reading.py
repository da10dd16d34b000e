"""Rotary positions inside a layer: how features are paired, and the base of the frequencies."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from attnspec_modules.attention.checking.composed_attention import (
    Array,
    Sample,
    are_alike,
    composed,
    rotated_as_they_should,
    sample_of,
)
from attnspec_modules.attention.constructing import has_word, scope_of
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_reading import Forward, Rotation
from attnspec_modules.attention.names import meaning_of
from attnspec_modules.attention.rotating import OTHER_FORMS

_BASES = (10_000.0, 500_000.0, 1_000_000.0)
"""Bases of published models, the usual one first."""

_PARTLY = re.compile(r"partial|rotary_dim|rotary_pct|rotary_ndims|rot_dim|rope_dim|rotary_percent|rot_pct|n_rot\b")
_SHARES = (0.5, 0.25, 0.75)

_OTHERWISE = re.compile(r"yarn|ntk|xpos|axial|2d|mrope|rope_scaling|scaling_factor|longrope|linear_scal", re.IGNORECASE)
"""Names of rotary positions that are none of those read here."""


class Expecting(NamedTuple):
    """Tokens and weights with which a layer is looked at, and the output that is right with a rotation, or without."""

    sample: Sample
    expected: Callable[[Rotation | None], Array]


def rotation_of(
    runner: LayerRunner, *, is_meant: bool, expecting: Expecting | None = None
) -> tuple[Forward, Rotation | None]:
    """Return how a layer is called that it rotates queries and keys, and how; where in no way known, as it should.

    The rotation is None for kinds that are not graded, and where none `is_meant`.
    """
    source, forward = _source(runner.layer_class), runner.reading.forward
    sample, expected = expecting or _of_multi_head(runner)
    runs = [(way, runner.with_forward(way)) for way in _ways(forward)]
    for rotation, (way, other) in product(_rotations(runner, source), runs):
        got = other.rotating(rotation).tried(sample.call, sample.weights, sample.heads)
        if got is not None and are_alike(got, expected(rotation)):
            return way, rotation
    if not is_meant or _OTHERWISE.search(source):
        return forward, None
    likely = Rotation(_named_pairing(source))
    taken = [(way, other.rotating(likely).tried(sample.call, sample.weights, sample.heads)) for way, other in runs]
    answered = [(way, got) for way, got in taken if got is not None]
    turning = [way for way, got in answered if not are_alike(got, expected(None))]
    return [*turning, *(way for way, _ in answered), forward][0], likely


def _of_multi_head(runner: LayerRunner) -> Expecting:
    """Return what multi-head attention is looked at with."""
    sample = sample_of(runner.reading)

    def expected(rotation: Rotation | None) -> Array:
        return composed(sample, rotated_as_they_should(rotation))

    return Expecting(sample, expected)


def _ways(forward: Forward) -> Iterator[Forward]:
    """Yield the ways of calling: without what may be tables of rotations, and with them, in their forms."""
    yield forward
    if forward.optional:
        for tables in OTHER_FORMS:
            given = {name: tables.get(word, word) for name, word in forward.optional.items()}
            if given != forward.optional or not tables:
                yield replace(forward, fixed={**forward.fixed, **given})


def _rotations(runner: LayerRunner, source: str) -> Iterator[Rotation]:
    """Yield the rotations that may be meant, the likeliest first."""
    bases = (10_000.0,)
    if not has_word(runner.layer_class, runner.reading.constructor, "theta"):
        bases = tuple(dict.fromkeys((*_BASES, *_bases_of_functions(runner.layer_class))))
    shares = (1.0, *(_SHARES if _PARTLY.search(source) else ()))
    for share, base, pairing in product(shares, bases, ("half", "interleaved")):
        yield Rotation(pairing, base, share)


def _bases_of_functions(layer_class: type) -> tuple[float, ...]:
    """Return the bases that the layer's file has as defaults, none of them below the usual one."""
    found: list[float] = []
    for value in scope_of(layer_class).values():
        if getattr(value, "__module__", None) == layer_class.__module__ and callable(value):
            try:
                parameters = inspect.signature(value).parameters.values()
            except (TypeError, ValueError):
                continue
            found += [
                float(each.default)
                for each in parameters
                if meaning_of("constructor", each.name) == "theta" and type(each.default) in (int, float)
            ]
    return tuple(base for base in found if base >= _BASES[0])


def _named_pairing(source: str) -> str:
    return "interleaved" if re.search(r"interleave(?!\()|view_as_complex|every_two|1::2", source) else "half"


def _source(layer_class: type) -> str:
    """Return the text of a layer's file; empty where there is none."""
    code = getattr(layer_class.__init__, "__code__", None)
    try:
        return "" if code is None else Path(code.co_filename).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
