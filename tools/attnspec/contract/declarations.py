"""Declarations of an implementation: the capabilities that it lacks, and its choices where good libraries differ.

A capability is a word of a family (:data:`attnspec.contract.CAPABILITIES`), the name of an argument, or
``argument=value``. The family knows those that a case needs: :func:`attnspec.families.lookup.needed_capabilities`.

The first choice of a convention is normative. Another may be declared in general, or for one operation, one dtype, or
the cases that need a capability: ``[OPERATION.]NAME[@WHERE...]``; the declaration that is qualified most wins. One for
an operation holds for its backward pass, too, unless that has its own.
"""

import json
from collections.abc import Mapping, Sequence, Set
from functools import cache
from typing import NamedTuple

from attnspec.base.errors import UsageError, did_you_mean
from attnspec.contract import CAPABILITIES, CONVENTIONS, OPERATIONS, WORDS_OF_ATTRIBUTES
from attnspec.contract.convention import Settles
from attnspec.contract.dtypes import FLOAT_DTYPES

CHOICES: Mapping[str, tuple[str, ...]] = {name: convention.choices for name, convention in CONVENTIONS.items()}
"""Convention to its choices; the first one is normative."""

_OPTIONAL = tuple(
    dict.fromkeys(
        argument
        for operation in OPERATIONS.values()
        for argument in operation.arguments
        if argument not in operation.required_arguments
    )
)
"""The arguments that a case may leave out."""

_DEFAULTS: Mapping[str, object] = {
    attribute: default for operation in OPERATIONS.values() for attribute, default in operation.attributes.items()
}
"""Attribute to its default, that of the last operation which has it."""

_OF_PYTHON = {"True": "true", "False": "false", "None": "null"}

_NORMATIVE: Mapping[str, str] = {name: choices[0] for name, choices in CHOICES.items()}


def is_capability(word: str) -> bool:
    """Return whether a word is a capability, or the name of an argument that a case may leave out."""
    return word in CAPABILITIES or word in _OPTIONAL


def can_be_missing(word: str) -> bool:
    """Return whether an implementation may be without a word: a capability, or an argument with a value."""
    argument, sign, value = word.partition("=")
    return is_capability(word) or bool(sign and argument in _DEFAULTS and _values_instead(argument, value) is None)


def check_capabilities(without: Sequence[str], *, said_by: str) -> None:
    """Raise `UsageError`, naming `said_by`, for a word that is no capability, or an argument with what it never has."""
    for word in without:
        if can_be_missing(word):
            continue
        argument, sign, value = word.partition("=")
        if sign and argument in _DEFAULTS:
            raise UsageError(f"{said_by} is without {word!r}, but {argument} is {_values_instead(argument, value)}.")
        hint = did_you_mean(word, (*CAPABILITIES, *_OPTIONAL))
        raise UsageError(
            f"{said_by} is without {word!r}, which is no capability.{hint} `attnspec explain capabilities` lists them."
        )


def _values_instead(argument: str, value: str) -> str | None:
    """Return the values of an attribute in words, where `value` is none of them."""
    if argument in WORDS_OF_ATTRIBUTES:
        words = WORDS_OF_ATTRIBUTES[argument]
        return None if value in words else f"one of {', '.join(words)}"
    default = _DEFAULTS[argument]
    try:
        # Python's own words stand for themselves, too.
        read = json.loads(_OF_PYTHON.get(value, value))
    except ValueError:
        read = value
    is_number = isinstance(read, int | float) and not isinstance(read, bool)
    if isinstance(default, bool):
        return None if isinstance(read, bool) else "true or false"
    if isinstance(default, int):
        is_whole = is_number and isinstance(read, int)
        return None if is_whole or read is None else f"a whole number, such as {argument}={default}"
    return None if is_number or read is None or isinstance(read, list) else "a number, a list of numbers, or null"


class Choices(dict[str, str]):
    """The choice of every convention for a run, by name.

    `departing` maps each subject of conventions to the choices that are not normative; `inner_dtype` is the dtype that
    float64 is computed in inside, None for float64 itself.
    """

    def __init__(self, choices: Mapping[str, str]) -> None:
        super().__init__(choices)
        self.departing: Mapping[Settles, dict[str, str]] = {what: {} for what in Settles}
        for name, choice in choices.items():
            if choice != _NORMATIVE[name]:
                self.departing[CONVENTIONS[name].settles][name] = choice
        self.inner_dtype = next(iter(self.departing[Settles.INNER_PRECISION].values()), None)


class _Key(NamedTuple):
    """Subject of a declaration: an operation or all, a convention, and the dtypes and capabilities that it is for."""

    operation: str
    name: str
    where: tuple[str, ...]

    @property
    def specificity(self) -> tuple[int, int]:
        """How much it is qualified; of equally many words, a dtype or a capability is nearer than the operation."""
        return len(self.where) + bool(self.operation), len(self.where)


@cache
def _parse_declaration_key(key: str) -> _Key:
    of, *where = key.split("@")
    operation, _, name = of.rpartition(".")
    return _Key(operation, name, tuple(where))


def check_conventions(conventions: Mapping[str, str], *, said_by: str) -> None:
    """Raise `UsageError`, naming `said_by`, for a convention, choice or qualification that the spec does not know."""
    for key, choice in conventions.items():
        operation, name, where = _parse_declaration_key(key)
        if operation and operation not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise UsageError(
                f"{said_by} declares the convention {key!r}, but there is no operation {operation!r}; "
                f"the operations are {known}."
            )
        if name not in CHOICES:
            known = ", ".join(CHOICES)
            raise UsageError(f"{said_by} declares the unknown convention {name!r}; the conventions are {known}.")
        for word in where:
            if word not in FLOAT_DTYPES and not is_capability(word):
                raise UsageError(
                    f"{said_by} declares the convention {key!r}, but {word!r} is neither a dtype "
                    f"({', '.join(FLOAT_DTYPES)}) nor a capability (`attnspec explain capabilities` lists them)."
                )
        if choice not in CHOICES[name]:
            known = ", ".join(CHOICES[name])
            raise UsageError(f"{said_by} declares {key}={choice!r}; the choices for {name} are {known}.")


def resolve_conventions(
    conventions: Mapping[str, str], operation: str, *, dtype: str | None = None, needed: Set[str] = frozenset()
) -> Choices:
    """Return the choice of every convention for one operation: that of the declaration which is qualified most.

    Conventions that do not concern the operation stay normative. Declarations for another dtype than this one, or for
    capabilities that are not among those `needed`, are left out.
    """
    resolved = dict(_NORMATIVE)
    of = "", OPERATIONS[operation].backward_of, operation  # from the farthest to the nearest
    found = conventions_for_operation(conventions, operation) if conventions else {}
    declared = [(_parse_declaration_key(key), choice) for key, choice in found.items()]
    for key, choice in sorted(declared, key=lambda entry: (entry[0].specificity, of.index(entry[0].operation))):
        if all(word == dtype or word in needed for word in key.where):
            resolved[key.name] = choice
    return Choices(resolved)


def conventions_for_operation(conventions: Mapping[str, str], operation: str) -> dict[str, str]:
    """Return the declarations for one operation: by its name, or for all where the convention has a choice for it."""
    of, named = ("", OPERATIONS[operation].backward_of, operation), OPERATIONS[operation].conventions
    keys = {key: _parse_declaration_key(key) for key in conventions}
    return {key: conventions[key] for key, read in keys.items() if read.operation in of and read.name in named}


def is_other_value(key: str, choice: str) -> bool:
    """Return whether a declaration gives an attribute one value alone, and another one than its default."""
    operation, name, _ = _parse_declaration_key(key)
    if CONVENTIONS[name].settles is not Settles.ATTRIBUTE or choice == _NORMATIVE[name]:
        return False
    concerned = [OPERATIONS[operation]] if operation else OPERATIONS.values()
    return any(choice != each.defaults[name] for each in concerned if name in each.defaults)


def conditional_conventions(conventions: Mapping[str, str]) -> dict[str, str]:
    """Return the conventions that are declared for some dtypes or capabilities alone."""
    return {key: choice for key, choice in conventions.items() if _parse_declaration_key(key).where}


@cache
def conventions_settling(what: Settles) -> tuple[str, ...]:
    """Return the names of the conventions that settle something."""
    return tuple(name for name, convention in CONVENTIONS.items() if convention.settles is what)
