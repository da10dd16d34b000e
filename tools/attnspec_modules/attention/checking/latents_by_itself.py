"""Checks of a layer of latent attention by itself: its norms, rotary positions and cache, which cases leave out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from attnspec_modules.attention.around import is_inside
from attnspec_modules.attention.checking.cached import cache_check
from attnspec_modules.attention.checking.composed_attention import Sample, are_alike, difference
from attnspec_modules.attention.checking.composed_latents import (
    LatentSteps,
    composed_latents,
    latent_sample,
    rotary_mistakes_of_latents,
)
from attnspec_modules.attention.checking.layer_by_itself import Checked, answer_of, checks_of
from attnspec_modules.attention.checking.norm_mistakes import Norm, norm_of_part, wrong_norms
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_reading import Rotation

_OPERATION = "latent_attention"

_OF = {"latent": "the norm of the latents", "query_latent": "the norm of the latents of queries"}


def latents_checked(runner: LayerRunner) -> Checked:
    """Return the checks of a layer of latent attention, which is read already."""
    reading = runner.reading
    sample, right = latent_sample(reading), LatentSteps()
    found: dict[str, str | None] = {}
    said: tuple[str, ...] = ()
    plain = answer_of(runner, sample)
    if not isinstance(plain, str) and are_alike(plain, composed_latents(sample, right)):
        # What is wrong without them is found by the cases.
        norms, others = _norms(runner, sample)
        parts = tuple(part for part, _, _ in norms)
        right = replace(right, norms=tuple((name, norm) for _, name, norm in norms))
        said = tuple(f"it normalizes inside ({part}), which is left out" for part in others)
        if norms:
            found["norms"] = _compared(runner.normalizing(parts), sample, right, _wrong_norms(right.norms))
        if reading.rotation is not None:
            found["rotary"] = _rotary(runner, sample, reading.rotation)
    if reading.forward.grows is not None:
        turning = runner.rotating(reading.rotation)
        found["cache"] = cache_check(turning, lambda dtype: latent_sample(reading, dtype))
    checked = checks_of(_OPERATION, found, reading.dtypes[0])
    return checked._replace(findings=(*said, *checked.findings))


def _norms(runner: LayerRunner, sample: Sample) -> tuple[tuple[tuple[str, str, Norm], ...], tuple[str, ...]]:
    """Return the norms of latents, each with its path and what it normalizes, and the paths of others."""
    every = runner.ready(sample.call, sample.weights, sample.heads).normalises
    made = runner.normalizing(every).ready(sample.call, sample.weights, sample.heads)
    tensors = {"latent": "latent", "query_down": "query_latent"}
    widths = {sample.weights[own].shape[1]: name for own, name in tensors.items() if own in sample.weights}
    found: list[tuple[str, str, Norm]] = []
    others: list[str] = []
    for part in made.normalises:
        shapes = {each.shape for path, each in made.norms.items() if is_inside(path, [part])}
        name = widths.get(next(iter(shapes))[0]) if len(shapes) == 1 else None
        if name is None:
            others.append(part)
        else:
            found.append((part, name, norm_of_part(made.layer, part, len(found))))
    return tuple(found), tuple(others)


def _wrong_norms(norms: tuple[tuple[str, Norm], ...]) -> Iterable[tuple[str, LatentSteps]]:
    """Yield sentences, without an end, on one norm that is wrong, and the steps of a layer with it."""
    for name, norm in norms:
        for sentence, wrong in wrong_norms(norm):
            others = tuple(each for each in norms if each[0] != name)
            yield f"{_OF[name]} {sentence}", LatentSteps(norms=others if wrong is None else (*others, (name, wrong)))
    for wrong in zip(*(wrong_norms(norm) for _, norm in norms), strict=True):
        every = ((name, each) for (name, _), (_, each) in zip(norms, wrong, strict=True))
        yield f"each norm {wrong[0][0]}", LatentSteps(norms=tuple((name, each) for name, each in every if each))


def _rotary(runner: LayerRunner, sample: Sample, rotation: Rotation) -> str:
    right = LatentSteps(rotation)
    # Where no right rotation was found, the pairing is a guess.
    other = LatentSteps(replace(rotation, pairing="interleaved" if rotation.pairing == "half" else "half"))
    mistakes = chain(rotary_mistakes_of_latents(right), rotary_mistakes_of_latents(other))
    return _compared(runner.rotating(rotation), sample, right, mistakes)


def _compared(
    runner: LayerRunner, sample: Sample, right: LatentSteps, mistakes: Iterable[tuple[str, LatentSteps]]
) -> str:
    """Return what a layer does in place of the right steps; empty where it does these."""
    got, expected = answer_of(runner, sample), composed_latents(sample, right)
    what = "rotary positions" if right.rotation is not None else "norms"
    if isinstance(got, str):
        return f"with {what} {got}"
    if are_alike(got, expected):
        return ""
    for sentence, steps in mistakes:
        if are_alike(got, composed_latents(sample, steps)):
            return f"{sentence}: {difference(got, expected)}"
    return f"{what} give another output than those of the reference: {difference(got, expected)}"
