"""Completion in a shell: the values of arguments and options by their names in usage, and ``attnspec completion``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import click

from attnspec.base.extensions import import_object

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_VARIABLE = "_ATTNSPEC_COMPLETE"
"""The variable that click reads when a shell wants completions; it follows from the name of the program."""


class _Word(click.types.StringParamType):
    """A word that completes to known values, and perhaps to files."""

    def __init__(self, values: Callable[[], Iterable[str]] | str, *, files: bool) -> None:
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

        values = import_object(self._values) if isinstance(self._values, str) else self._values()
        found = [CompletionItem(value) for value in values if value.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


def add_completion(command: click.Command) -> None:
    """Let the arguments and options of a command complete whose values are known."""
    for parameter in command.params:
        name = parameter.metavar or (parameter.name or "").upper()
        if name in _VALUES:
            parameter.type = _Word(_VALUES[name], files=name == "TARGET")


def _profiles() -> Iterable[str]:
    from attnspec.cases.selecting import SMOKE_PROFILE
    from attnspec.contract import PROFILES

    return (*PROFILES, SMOKE_PROFILE)


def _conventions() -> Iterable[str]:
    from attnspec.contract import CONVENTIONS

    return (f"{name}={choice}" for name, convention in CONVENTIONS.items() for choice in convention.choices)


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
    from attnspec.command_line.vocabulary import vocabulary_words
    from attnspec.specification import errata

    return (*vocabulary_words(), *_clauses(), *errata(), *_mistakes(), *_cases())


_VALUES: Mapping[str, Callable[[], Iterable[str]] | str] = {
    "CASE": _cases,
    "CLAUSE": _clauses,
    "DTYPE": "attnspec.contract.dtypes:FLOAT_DTYPES",
    "GLOB": _cases,
    "K=V": _conventions,
    "LAYOUT": "attnspec.contract:LAYOUTS",
    "LIBRARY": "attnspec.tensors:TENSORS",
    "MISTAKE": _mistakes,
    "NAME": lambda: (*_profiles(), *import_object("attnspec.contract:OPERATIONS")),
    "OPERATION": "attnspec.contract:OPERATIONS",
    "PROFILE": _profiles,
    "TARGET": "attnspec.base.extensions:BUILT_IN",
    "WAY": "attnspec.targets.differentiating:BACKWARD",
    "WORD": _words,
    "WORDS": "attnspec.contract:CAPABILITIES",
}
"""Name of a value in usage to all values that it may have, or to the ``package.module:attribute`` that holds them."""


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes words of attnspec in SHELL.

    bash: attnspec completion bash >> ~/.bashrc

    zsh: attnspec completion zsh >> ~/.zshrc

    fish: attnspec completion fish > ~/.config/fish/completions/attnspec.fish
    """
    from click.shell_completion import get_completion_class

    program = context.find_root()
    of_shell = get_completion_class(shell)
    assert of_shell is not None
    script = of_shell(program.command, {}, program.info_name or "", _VARIABLE)
    # Not `source()`, which starts a shell to learn its version.
    click.echo(script.source_template % script.source_vars())
