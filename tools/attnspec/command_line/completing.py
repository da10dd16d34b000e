"""Values to which arguments and options complete in a shell, by their names in usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from click.shell_completion import CompletionItem


class _Word(click.types.StringParamType):
    """A word that completes to known values, and perhaps to files."""

    def __init__(self, values: Callable[[], Iterable[str]], *, files: bool) -> None:
        self._values = values
        self._files = files

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click calls it so
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the values that begin like the word, in their order."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(value) for value in self._values() if value.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


def let_complete(command: click.Command) -> None:
    """Let the arguments and options of a command complete whose values are known."""
    for parameter in command.params:
        values = _VALUES.get(parameter.metavar or (parameter.name or "").upper())
        if values is not None:
            parameter.type = _Word(values, files=values is _targets)


def _profiles() -> Iterable[str]:
    from attnspec.cases.selecting import SMOKE_PROFILE
    from attnspec.contract import PROFILES

    return (*PROFILES, SMOKE_PROFILE)


def _dtypes() -> Iterable[str]:
    from attnspec.contract.dtypes import FLOAT_DTYPES

    return FLOAT_DTYPES


def _conventions() -> Iterable[str]:
    from attnspec.contract import CONVENTIONS

    return (f"{name}={choice}" for name, convention in CONVENTIONS.items() for choice in convention.choices)


def _capabilities() -> Iterable[str]:
    from attnspec.contract import CAPABILITIES

    return CAPABILITIES


def _libraries() -> Iterable[str]:
    from attnspec.tensors import TENSORS

    return TENSORS


def _ways() -> Iterable[str]:
    from attnspec.targets.differentiating import BACKWARD

    return BACKWARD


def _layouts() -> Iterable[str]:
    from attnspec.contract import LAYOUTS

    return LAYOUTS


def _operations() -> Iterable[str]:
    from attnspec.contract import OPERATIONS

    return OPERATIONS


def _cases() -> Iterable[str]:
    from attnspec.base.files import GOLDEN_FOLDER
    from attnspec.cases import read_index

    return read_index(GOLDEN_FOLDER)


def _clauses() -> Iterable[str]:
    from attnspec.specification import clauses

    return clauses()


def _mistakes() -> Iterable[str]:
    from attnspec_mistakes import CATALOGUE

    return (mistake.id for mistake in CATALOGUE)


def _words() -> Iterable[str]:
    from attnspec.command_line.vocabulary import words
    from attnspec.specification import errata

    return (*words(), *_clauses(), *errata(), *_mistakes(), *_cases())


def _required() -> Iterable[str]:
    return (*_profiles(), *_operations())


def _targets() -> Iterable[str]:
    from attnspec.base.extensions import BUILT_IN

    return BUILT_IN


_VALUES: Mapping[str, Callable[[], Iterable[str]]] = {
    "CASE": _cases,
    "CLAUSE": _clauses,
    "DTYPE": _dtypes,
    "GLOB": _cases,
    "K=V": _conventions,
    "LAYOUT": _layouts,
    "LIBRARY": _libraries,
    "MISTAKE": _mistakes,
    "NAME": _required,
    "OPERATION": _operations,
    "PROFILE": _profiles,
    "TARGET": _targets,
    "WAY": _ways,
    "WORD": _words,
    "WORDS": _capabilities,
}
"""Name of a value in usage to all values that it may have."""
