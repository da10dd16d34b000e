"""Check of norms of queries and keys inside a layer of attention (QK-norm), and usual mistakes in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from attnspec_modules.attention.around import is_inside
from attnspec_modules.attention.checking.composed_attention import (
    Array,
    Heads,
    Sample,
    Turn,
    are_alike,
    composed,
    difference,
    rotated_as_they_should,
)
from attnspec_modules.attention.checking.norm_mistakes import (
    USUAL_EPSILON,
    Norm,
    norm_of_part,
    normalized,
    wrong_norms,
)
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_reading import Rotation
from attnspec_modules.attention.names import meaning_of

_NAMES = {"query": "the norm of the queries", "key": "the norm of the keys"}


@dataclass(frozen=True)
class HeadNorm:
    """Norm of queries or keys: of each head by itself, or over all heads of a token.

    `weight_of_head`: each head has the same weight, though the features of all are squared and averaged together;
    `weight_of_all`: the other way round.
    """

    norm: Norm
    over_all: bool
    weight_of_head: bool = False
    weight_of_all: bool = False

    def of(self, array: Array) -> Array:
        """Return heads (B, H, S, E), normalized."""
        if self.weight_of_head or self.weight_of_all:
            return self._with_weight_of_others(array)
        return _apart(normalized(_together(array), self.norm), array) if self.over_all else normalized(array, self.norm)

    def _with_weight_of_others(self, array: Array) -> Array:
        plain = HeadNorm(replace(self.norm, is_one=True), self.weight_of_head).of(array)
        # Of a constant, an RMS norm with an epsilon of 0 leaves the weight alone.
        ones = np.ones_like(array)
        alone = replace(self.norm, kind="rms", epsilon=0.0)
        return plain * HeadNorm(alone, self.weight_of_all).of(ones)


Norms = Mapping[str, HeadNorm]


def _together(array: Array) -> Array:
    return array.swapaxes(1, 2).reshape(array.shape[0], array.shape[2], -1)


def _apart(together: Array, like: Array) -> Array:
    batch, heads, tokens, width = like.shape
    return together.reshape(batch, tokens, heads, width).swapaxes(1, 2)


def norms_of_heads(still: LayerRunner, sample: Sample) -> tuple[tuple[str, ...], Norms]:
    """Return the paths of parts that normalize queries and keys, by their names, and the norms that they are."""
    every = still.ready(sample.call, sample.weights, sample.heads).normalises
    parts = tuple(part for part in every if meaning_of("norms", part.rpartition(".")[2]))
    found: dict[str, HeadNorm] = {}
    if parts:
        made = still.normalizing(parts).ready(sample.call, sample.weights, sample.heads)
        width = sample.weights["w_query"].shape[1]
        for number, part in enumerate(parts):
            shapes = {each.shape for path, each in made.norms.items() if is_inside(path, [part])}
            if shapes - {(width,), (width // sample.heads,)}:
                return (), {}
            meaning = meaning_of("norms", part.rpartition(".")[2])
            own = HeadNorm(norm_of_part(made.layer, part, number), over_all=(width,) in shapes)
            found |= dict.fromkeys(_NAMES if meaning == "both" else (str(meaning),), own)
    return parts, found


def normalizes_itself(got: Array, sample: Sample) -> bool:
    """Return whether the output of a layer is that of queries and keys that are normalized without a weight."""
    for kind, over_all in product(("rms", "layer"), (False, True)):
        own = HeadNorm(Norm(kind, epsilon=USUAL_EPSILON, is_one=True), over_all)
        if are_alike(got, composed(sample, _of({"query": own, "key": own}, None))):
            return True
    return False


def norms_check(runner: LayerRunner, sample: Sample, got: Array | str, norms: Norms) -> str:
    """Return how the norms of queries and keys go wrong, in the output of a layer that has them and its rotation."""
    if isinstance(got, str):
        return f"with its norms {got}"
    rotation = runner.rotation
    expected = composed(sample, _of(norms, rotation))
    if are_alike(got, expected):
        return ""
    for sentence, turn in _mistakes(norms, rotation):
        if are_alike(got, composed(sample, turn)):
            return f"{sentence}: {difference(got, expected)}"
    what = "queries and keys that are normalized" + (" and rotated then" if rotation is not None else "")
    return f"with its norms, it gives another output than {what}: {difference(got, expected)}"


def _of(norms: Norms, rotation: Rotation | None, *, is_rotated_before: bool = False) -> Turn:
    turn = rotated_as_they_should(rotation)

    def normalize(heads: Heads) -> Heads:
        return {name: norms[name].of(array) if name in norms else array for name, array in heads.items()}

    return lambda heads: normalize(turn(heads)) if is_rotated_before else turn(normalize(heads))


def _mistakes(norms: Norms, rotation: Rotation | None) -> Iterator[tuple[str, Turn]]:
    """Yield sentences, without an end, on what is normalized wrongly, and what does it."""
    subjects: list[tuple[str, tuple[str, ...]]] = [(_NAMES[name], (name,)) for name in norms]
    if len(norms) > 1:
        subjects.append(("the norm of both, queries and keys,", tuple(norms)))
    if rotation is not None:
        sentence = "queries and keys are normalized after they are rotated, and not before"
        yield sentence, _of(norms, rotation, is_rotated_before=True)
    for subject, names in subjects:
        for wrong in zip(*(wrong_norms(norms[name].norm) for name in names), strict=True):
            others = {name: norm for name, norm in norms.items() if name not in names}
            for name, (_, each) in zip(names, wrong, strict=True):
                if each is not None:
                    others[name] = replace(norms[name], norm=each)
            yield f"{subject} {wrong[0][0]}", _of(others, rotation)
        own = norms[names[0]]
        if own.over_all:
            said, change = "is one of each head by itself, and its weight one of all heads", {"weight_of_all": True}
        else:
            said, change = "is one over all heads, and its weight that of each head", {"weight_of_head": True}
        yield f"{subject} {said}", _of(dict(norms) | {name: replace(norms[name], **change) for name in names}, rotation)
    if {*norms} == {"query", "key"}:
        yield "the norms of queries and keys are swapped", _of({"query": norms["key"], "key": norms["query"]}, rotation)
        yield "the values are normalized, too", _of({**norms, "value": norms["key"]}, rotation)
