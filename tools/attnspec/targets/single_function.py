"""The one function of a target, as the operation that its name and arguments say, where nobody else does."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, ModuleType
from typing import NamedTuple

from attnspec.base.errors import UsageError
from attnspec.targets.in_process import computing, own_callables
from attnspec.targets.naming import demanded_names, guess_operation
from attnspec.tensors.libraries import likely_tensors

_OF_FACTORIES = ("device", "layout")
"""Arguments that are passed to a class or a function that makes an adapter."""


class Single(NamedTuple):
    """One function, as which operation it is called, and the module around it.

    `guessed` says in words what nobody had said; `likely_tensors` is the library that its code names.
    """

    function: object
    operation: str
    module: ModuleType | None
    guessed: str
    likely_tensors: str | None

    def in_words(self, tensors: str | None) -> str:
        """Return what was guessed, the library of `tensors` with it."""
        return f"{self.guessed}; it takes tensors of {tensors}" if tensors else self.guessed


def single_function(
    found: object, adapter: str, module: ModuleType | None, renames: Mapping[str, str]
) -> Single | None:
    """Return the one function that is meant by what was `found`; None for what makes an adapter, or holds nothing.

    In a module, it is the only function, or the only one whose name or arguments say an operation.
    """
    if isinstance(found, ModuleType):
        functions = [getattr(found, name) for name in own_callables(found)]
        return _of_module(found, [each for each in functions if isinstance(each, FunctionType)], renames)
    function = computing(found)
    if isinstance(function, type) or not callable(function):
        return None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if all(name in _OF_FACTORIES for name in demanded_names(parameters)):
        # A factory: it is called without arguments.
        return None
    name = adapter if function is not found else getattr(found, "__name__", adapter)
    return guess_function(function, name, module, renames).named("it")._replace(function=found)


class Guess(NamedTuple):
    """A guess about one function, and whether names say it, and not the number of its arguments alone."""

    single: Single
    is_sure: bool

    def named(self, name: str) -> Single:
        """Return the function, with the words of the guess, in which it has a name."""
        return self.single._replace(guessed=f"{name} is {self.single.guessed}")


def _of_module(module: ModuleType, functions: Iterable[FunctionType], renames: Mapping[str, str]) -> Single | None:
    guesses: list[Guess] = []
    for function in functions:
        try:
            guesses.append(guess_function(function, function.__name__, module, renames))
        except UsageError:
            continue
    sure = [guess for guess in guesses if guess.is_sure]
    meant = sure if len(sure) == 1 else guesses if len(guesses) == 1 else []
    return next((guess.named(str(getattr(guess.single.function, "__name__", "it"))) for guess in meant), None)


def guess_function(
    function: Callable[..., object], name: str, module: ModuleType | None, renames: Mapping[str, str]
) -> Guess:
    """Guess the operation of a function, whose arguments have the contract's names where these are said."""
    parameters = {renames.get(own, own): each for own, each in inspect.signature(function).parameters.items()}
    operation, why, is_sure = guess_operation(name, parameters)
    guessed = f"{operation.name}, because {why}"
    return Guess(Single(function, operation.name, module, guessed, likely_tensors(function)), is_sure)
