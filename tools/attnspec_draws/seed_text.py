"""The text that names a draw, such as ``draw:scaled_dot_product_attention/7/42:float32:keys=4:without=mask+sinks``.

The text is all that is needed to draw the same case again, on any machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attnspec.base.errors import UsageError
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_draws.generators.limits import Limits

PREFIX = "draw:"
_SIZES = ("elements", "longest", "rows", "variant")
_TEXTS = ("numbers", "sample")
_SEED = re.compile(r"[^\s/:\ud800-\udfff]+")
"""Half of a character, which Python makes of bytes that are no text, cannot be written down."""

_NUMBER = re.compile(r"[0-9]{1,9}")
"""Larger numbers than these are lengths of nothing that could be drawn."""

_AXES = re.compile(r"[n1]*|0")

_FORM = "draw:OPERATION/SEED/NUMBER:DTYPE, and behind it AXIS=LENGTH and without=FEATURE+FEATURE, with colons between"


@dataclass(frozen=True)
class Recipe:
    """Recipe of a draw: its operation, seed, number and limits.

    `UsageError` unless the seed is a word without slash and colon, and the number below a billion.
    """

    operation: str
    seed: str
    number: int
    limits: Limits

    def __post_init__(self) -> None:
        """Refuse what a text could not name."""
        if not _SEED.fullmatch(self.seed):
            raise UsageError(
                f"The seed {self.seed!r} cannot be written in a recipe: choose a word without space, / and :."
            )
        if not _NUMBER.fullmatch(str(self.number)):
            raise UsageError(f"There is no draw {self.number}: numbers go from 0 to 999999999.")

    @property
    def text(self) -> str:
        """The text that names it."""
        limits = self.limits
        default = Limits(limits.dtype)
        words = [f"{PREFIX}{self.operation}/{self.seed}/{self.number}", limits.dtype]
        words += [
            f"{name}={getattr(limits, name)}" for name in _SIZES if getattr(limits, name) != getattr(default, name)
        ]
        words += [f"{name}={getattr(limits, name)}" for name in _TEXTS if getattr(limits, name)]
        words += [f"{axis}={length}" for axis, length in sorted(limits.extents.items())]
        words += [
            f"{name}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}"
            for name, value in sorted(limits.stated.items())
        ]
        words += [f"with={'+'.join(_input(*each) for each in sorted(limits.given.items()))}"] if limits.given else []
        words += [f"without={'+'.join(sorted(limits.without))}"] if limits.without else []
        return ":".join(words)

    def leaving_out(self, features: Iterable[str]) -> Recipe:
        """Return the recipe of the same draw without some features."""
        return replace(self, limits=replace(self.limits, without=self.limits.without.union(features)))

    def in_variant(self, variant: int) -> Recipe:
        """Return the recipe of the draw that is alike in all but the numbers of its tensors."""
        return replace(self, limits=replace(self.limits, variant=variant))

    def with_extents(self, extents: Mapping[str, int]) -> Recipe:
        """Return the recipe of the same draw with the lengths of some axes."""
        return replace(self, limits=replace(self.limits, extents={**self.limits.extents, **extents}))


def is_seed(word: str) -> bool:
    """Return whether a word can be the seed of draws: it has no space, slash and colon."""
    return _SEED.fullmatch(word) is not None


def is_recipe(text: str) -> bool:
    """Return whether a text names a draw, or tries to."""
    return text.startswith(PREFIX)


def recipe_from_text(text: str) -> Recipe:
    """Read the text of a draw; `UsageError`, which quotes it and says what is wrong, where it is none."""
    head, *words = text.removeprefix(PREFIX).split(":")
    operation, *numbers = head.split("/")
    if not is_recipe(text) or len(numbers) != 2 or not _SEED.fullmatch(numbers[0]) or not _NUMBER.fullmatch(numbers[1]):
        raise UsageError(f"{text!r} names no draw: write {_FORM}.")
    if operation not in OPERATIONS:
        raise UsageError(f"{text!r}: there is no operation {operation!r}.")
    if not words or words[0] not in FLOAT_DTYPES:
        raise UsageError(f"{text!r} names no dtype: write {_FORM}; the dtypes are {', '.join(FLOAT_DTYPES)}.")
    try:
        limits = _limits(operation, words[0], words[1:])
    except UsageError as error:
        raise UsageError(f"{text!r}: {error}") from None
    return Recipe(operation, numbers[0], int(numbers[1]), limits)


def _limits(operation: str, dtype: str, words: Iterable[str]) -> Limits:
    """Read the words behind the dtype."""
    sizes: dict[str, int] = {}
    stated: dict[str, Any] = {}
    texts = dict.fromkeys(_TEXTS, "")
    given: dict[str, str] = {}
    without: frozenset[str] = frozenset()
    for word in words:
        name, sign, value = word.partition("=")
        if name in sizes:
            raise UsageError(f"{name} is said twice.")
        if name == "without" and all(value.split("+")):
            without = without.union(value.split("+"))
        elif name == "with" and all(value.split("+")):
            given |= dict(_read_input(operation, each) for each in value.split("+"))
        elif name in _TEXTS and _SEED.fullmatch(value):
            texts[name] = value
        elif name in OPERATIONS[operation].attributes and value:
            stated[name] = _read(value)
        elif name and sign and _NUMBER.fullmatch(value):
            sizes[name] = int(value)
        else:
            raise UsageError(
                f"{word!r} is none of AXIS=LENGTH, ATTRIBUTE=VALUE, with=INPUT+INPUT and without=FEATURE+FEATURE."
            )
    default = Limits(dtype)
    of_all = {name: sizes.pop(name, getattr(default, name)) for name in _SIZES}
    limits = Limits(dtype, without, extents=sizes, stated=stated, given=given, **texts)
    return replace(limits, **of_all)


def _input(name: str, axes: str) -> str:
    """Write an input that is given, with its axes where they are stated."""
    return f"{name}.{axes}" if axes else name


def _read_input(operation: str, word: str) -> tuple[str, str]:
    """Read what `_input` wrote."""
    name, _, axes = word.partition(".")
    offered = OPERATIONS[operation].optional_inputs
    if name not in offered:
        raise UsageError(
            f"with={word} names no input that {operation} may be given"
            + (f"; it may be given {', '.join(offered)}." if offered else ".")
        )
    if not _AXES.fullmatch(axes):
        raise UsageError(f"{word!r} is no INPUT, nor INPUT.AXES with n or 1 for each axis, or 0 for none.")
    return name, axes


def _read(word: str) -> Any:
    """Read the value of an attribute."""
    try:
        return json.loads(word)
    except ValueError:
        return word
