"""Drawing: from a recipe to a case with its answers."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import UsageError
from attnspec.cases import Case, ChangedArgument, run_attributes
from attnspec.cases.case import Rejection
from attnspec.contract import OPERATIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, can_be_missing, conventions_settling
from attnspec.contract.dtypes import REFERENCE_DTYPE
from attnspec.families.lookup import needed_capabilities
from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.drawn import CHANGED, Drawn, argument_to_change, other_value
from attnspec_draws.generators.limits import TooLargeError
from attnspec_draws.generators.memory import ONE_ARRAY
from attnspec_draws.generators.random_cases import CaseGenerator, case_generator_of, random_cases_of
from attnspec_draws.generators.refusing import REFUSED, TWICE, malformed, of_another_value
from attnspec_draws.generators.special_numbers import BEYOND_FLOAT16, beyond_float16
from attnspec_draws.generators.words import Words
from attnspec_draws.seed_text import Recipe, recipe_from_text

PROFILE = "draws"
_SOURCE = {"section": "drawn as spec/draws.md says"}

_FAR = 0.125
_NOISE = 2.0**-30
"""Least change, beyond any float32 tolerance, relative to an output's largest number, and to that of all outputs for
one that is 0 but for rounding."""

_CHECKS = next(iter(conventions_settling(Settles.REFUSALS)))
_STRICT = (_CHECKS, CHOICES[_CHECKS][0])
"""Convention under which draws must be refused: one that lets NumPy repeat arrays need not look at shapes."""


def drawable() -> tuple[str, ...]:
    """Return the operations of which cases can be drawn."""
    return tuple(operation for operation in OPERATIONS if operation in random_cases_of(operation).case_generators)


def drawn_of(recipe: Recipe) -> Drawn:
    """Draw the inputs of a case, without its answers.

    `UsageError` where the operation cannot be drawn, an axis or a word left out is unknown to it, or the case is too
    large.
    """
    case_generator = random_cases_of(recipe.operation).case_generators.get(recipe.operation)
    if case_generator is None:
        raise UsageError(f"{recipe.text}: cases of {recipe.operation} cannot be drawn; {', '.join(drawable())} can.")
    _check_left_out(recipe, case_generator)
    seed = f"{recipe.operation}/{recipe.seed}/{recipe.number}/{recipe.limits.dtype}"
    words = Words(seed, recipe.limits.variant)
    limits = replace(recipe.limits, without=case_generator.leaving_out(recipe.limits.without))
    try:
        drawn = case_generator.draw(words, limits)
    except TooLargeError as error:
        raise TooLargeError(f"{recipe.text}: {error}", error.elements) from None
    except UsageError as error:
        raise UsageError(f"{recipe.text}: {error}") from None
    if recipe.limits.numbers not in ("", "plain", *drawn.features):
        raise UsageError(
            f"{recipe.text}: {recipe.limits.numbers!r} is no class of numbers that {recipe.operation} has."
        )
    unknown = sorted(recipe.limits.extents.keys() - drawn.extents.keys())
    if unknown:
        raise UsageError(f"{recipe.text}: there is no axis {unknown[0]!r}; the axes are {', '.join(drawn.extents)}.")
    drawn = beyond_float16(words, drawn, case_generator.resized, limits)
    changed = argument_to_change(words, drawn, limits, OPERATIONS[recipe.operation].inputs)
    if changed is not None:
        drawn = replace(drawn, changed=changed, features=(*drawn.features, CHANGED))
    wrong = of_another_value(words, drawn, case_generator.misfits, limits)
    wrong = wrong or malformed(words, drawn, case_generator.refusals, limits)
    if wrong is None or _refusal(recipe, wrong) is None:
        return drawn
    # Nobody declines a refusal for something that is left out.
    return wrong if needed_capabilities(case_of(recipe, wrong)).isdisjoint(recipe.limits.without) else drawn


def _refusal(recipe: Recipe, drawn: Drawn) -> str | None:
    """Return why the reference refuses what was drawn; None where it does not."""
    try:
        reference_outputs(recipe.operation, drawn.inputs, run_attributes(REFERENCE_DTYPE, drawn.attributes))
    except ValueError as error:
        return str(error)
    return None


@cache
def words_of_draws() -> tuple[str, ...]:
    """Return what draws can leave out beside capabilities and arguments, by the alphabet."""
    own = (case_generator_of(operation).own_words for operation in drawable())
    return tuple(sorted(frozenset((BEYOND_FLOAT16, CHANGED, REFUSED, TWICE)).union(*own)))


def can_be_left_out(word: str) -> bool:
    """Whether draws of some operation can leave out what a word names."""
    return can_be_missing(word) or word in words_of_draws()


def _check_left_out(recipe: Recipe, case_generator: CaseGenerator) -> None:
    # A campaign leaves the same out of all that it draws, whether an operation has it or not.
    for word in sorted(recipe.limits.without - case_generator.own_words):
        if not can_be_left_out(word):
            raise UsageError(
                f"{recipe.text}: {word!r} is nothing that a draw could leave out: write a capability "
                f"(`attnspec explain capabilities` lists them), an argument, or one of {', '.join(words_of_draws())}."
            )


def draw(recipe: Recipe) -> Case:
    """Draw a case: its inputs, and the reference's answers to them in float64; raises as `drawn_of`."""
    return case_of(recipe, drawn_of(recipe))


def case_of_text(text: str) -> Case:
    """Draw the case that a text names; `UsageError` where it names none, or as `draw`."""
    return draw(recipe_from_text(text))


def case_of(recipe: Recipe, drawn: Drawn) -> Case:
    """Return what was drawn by a recipe as a case with its answers."""
    expected = drawn.expected
    if expected is None and not drawn.is_refused:
        attributes = run_attributes(REFERENCE_DTYPE, drawn.attributes)
        outputs = reference_outputs(recipe.operation, drawn.inputs, attributes)
        expected = {name: output for name, output in outputs.items() if name not in drawn.left_open}
    return Case(
        id=recipe.text,
        revision=1,
        title=f"draw {recipe.number} of the seed {recipe.seed}",
        operation=recipe.operation,
        profile=PROFILE,
        clauses=drawn.clauses,
        targets=(),
        errata=(),
        source=_SOURCE,
        # What is made of attributes alone is the same in every dtype.
        dtypes=(recipe.limits.dtype,) if drawn.inputs else (),
        inputs=drawn.inputs,
        attributes=drawn.attributes,
        expected={"all": expected or {}} if drawn.properties is None else None,
        sample=drawn.sample,
        memory_order=drawn.memory_order,
        rejects=_rejection(recipe, drawn) if drawn.is_refused else None,
        properties=drawn.properties,
        changed_argument=_changed_argument(recipe, drawn, expected or {}),
        conventions=drawn.conventions,
        printed=(),
        thinned=drawn.thinned,
        is_certified=False,
    )


def _rejection(recipe: Recipe, drawn: Drawn) -> Rejection:
    """Return why a draw must be refused; its valid counterpart is the draw as it is right."""
    reason = f"The reference says: {_refusal(recipe, drawn)}"
    strict = None if {*drawn.clauses} <= {*drawn.needed.values()} else _STRICT
    return Rejection(reason, recipe.leaving_out((REFUSED,)).text, strict)


def _changed_argument(recipe: Recipe, drawn: Drawn, expected: Mapping[str, NDArray[Any]]) -> ChangedArgument | None:
    """Return the argument that is changed, if any; None where the first expected result stays nearly the same."""
    name, derived = drawn.changed, case_generator_of(recipe.operation).derived
    if name is None or drawn.sample or not derived.isdisjoint(drawn.inputs) or ONE_ARRAY in drawn.features:
        return None
    inputs, attributes = dict(drawn.inputs), dict(drawn.attributes)
    if name in inputs:
        change = ChangedArgument(name, reversed=True)
        inputs[name] = np.flip(inputs[name]).copy()
    else:
        change = ChangedArgument(name, drawn.others.get(name, other_value(attributes[name])))
        attributes[name] = change.value
    first = OPERATIONS[recipe.operation].outputs[0]
    try:
        others = reference_outputs(recipe.operation, inputs, run_attributes(REFERENCE_DTYPE, attributes))
    except ValueError:
        return None
    if first not in expected or first not in others:
        return None
    before, after = (np.asarray(outputs[first], np.float64) for outputs in (expected, others))
    if before.shape != after.shape or not np.array_equal(np.isneginf(before), np.isneginf(after)):
        # With inputs, NaN may be expected for infinity; without any, these are masks.
        return None if inputs else change
    noise = _NOISE * max(map(_largest, (*expected.values(), *others.values())))
    own = _FAR * max(_largest(before), _largest(after))
    with np.errstate(invalid="ignore"):
        moved = _largest(before - after)
    return change if moved > max(noise, own) else None


def _largest(array: NDArray[Any]) -> float:
    """Return the largest finite number of an array, without its sign; 0 where there is none."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
