"""Questions to a candidate: draws at the shapes that its user names and beside them, by seeds that reveal no other."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from attnspec_draws import Recipe
from attnspec_draws.generators.random_cases import case_generator_of
from attnspec_draws.generators.words import REVERSED, Words
from attnspec_draws.judge.shapes import Shape, limits_at

VARIANTS = (0, 1, REVERSED)
"""Each draw is called with other numbers, too, and with its own in the opposite order: shapes and sums stay."""

Where = Literal["at", "beside", "smaller"]

LARGE_DRAWS = 8
"""Draws of a large shape, one a class of numbers, and half as many beside it: each costs about one naive call.

Of what is large and graded whole there are as many, all but the first in one variant: each costs several naive calls.
"""

_LONG = 8
"""Axes longer than this are varied: errors beside a shape are errors at the edge of a tile."""

_EXPLAINING = 12
"""Small draws that explain what is wrong: the cheap wrong answers show in nearly each, a rule of its own in some."""


@dataclass(frozen=True)
class Question:
    """Draw that a candidate is called with, at a shape or beside it, in some variants.

    A small one is put to explain what is wrong, and counts for nothing.
    """

    shape: Shape
    where: Where
    recipe: Recipe
    variants: tuple[int, ...] = VARIANTS

    @property
    def recipes(self) -> list[Recipe]:
        """The recipe in each of the variants."""
        return [self.recipe.in_variant(variant) for variant in self.variants]


def questions(shape: Shape, dtype: str, seed: str, draws: int) -> Iterator[Question]:
    """Give the draws of a shape in a dtype: `draws` at it, then half as many beside it; fewer where they are large."""
    limits = limits_at(shape, dtype)
    about = (shape.text, dtype)
    classes = case_generator_of(shape.operation).classes_of_large
    many = min(draws, LARGE_DRAWS) if shape.size.is_large else draws

    def recipe(number: int) -> Recipe:
        own = limits
        if shape.size.rows:
            own = replace(limits, numbers=classes[number % len(classes)], sample=seed_of(seed, *about, number, "rows"))
        return Recipe(shape.operation, seed_of(seed, *about, number), number, own)

    def variants(number: int) -> tuple[int, ...]:
        # The tolerance of what is large and graded whole takes longest.
        is_costly = shape.size.is_large and not shape.size.rows
        return VARIANTS[number % len(VARIANTS) :][:1] if is_costly and number else VARIANTS

    for number in range(many):
        yield Question(shape, "at", recipe(number), variants(number))
    for number in range(many, many + max(many // 2, 1)):
        extents = _beside(shape.extents, seed, number)
        if extents != shape.extents:
            beside = recipe(number).with_extents(extents)
            if not limits.rows:
                # Axes that are longer by one may go beyond what was enough for the shape.
                beside = replace(beside, limits=replace(beside.limits, elements=2 * limits.elements))
            yield Question(shape, "beside", beside, variants(number))


def requested_again(question: Question, seed: str) -> Recipe:
    """Return the recipe of a large draw with other rows in its sample: its answer was too large to be kept."""
    sample = seed_of(seed, question.recipe.limits.sample, "again")
    return replace(question.recipe, limits=replace(question.recipe.limits, sample=sample))


def smaller(question: Question) -> Iterator[Question]:
    """Give small draws that are like a question in all but their lengths."""
    extents = {axis: min(length, _LONG) for axis, length in question.shape.extents.items()}
    limits = replace(question.recipe.limits, numbers="", sample="", extents=extents)
    for number in range(_EXPLAINING):
        yield Question(question.shape, "smaller", replace(question.recipe, number=number, limits=limits))


def _beside(extents: Mapping[str, int], seed: str, number: int) -> Mapping[str, int]:
    """Make one long axis, and those that are as long, a little longer or shorter, or halve it."""
    stream = Words(f"{seed}/{number}").of("beside")
    long = sorted({length for length in extents.values() if length > _LONG})
    if not long:
        return extents
    length = stream.one_of(long)
    other = stream.one_of((length - 1, length + 1, length - 3, length // 2 + 1))
    return {axis: other if own == length else own for axis, own in extents.items()}


_DIGITS = 16
"""Hexadecimal digits of a seed: 64 bits, as many as the generator has."""


def seed_of(word: str, *about: object) -> str:
    """Return the seed of something drawn, by the seed of the judge and texts without a line end."""
    return hashlib.sha256("\n".join((word, *map(str, about))).encode()).hexdigest()[:_DIGITS]
