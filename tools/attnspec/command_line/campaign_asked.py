"""What the words of ``attnspec campaign`` ask for: what is to be drawn, and of whom it is asked."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.campaign import Sought
    from attnspec.guard.task import Task

_REPEATABLE = ("conventions", "renames", "without")


class Asked(NamedTuple):
    """What is asked for.

    Attributes
    ----------
    sought
        What is to be drawn.
    task
        The target, and how it is run.
    about
        The words that tell this campaign from others, as its file keeps them.
    """

    sought: Sought
    task: Task
    about: Mapping[str, Any]


def asked_for(
    target: str | None,
    command: str | None,
    seed: str,
    operations: tuple[str, ...],
    dtypes: tuple[str, ...],
    elements: int | None,
    longest: int | None,
    said: Mapping[str, Any],
) -> Asked:
    """Read the words of the command.

    Parameters
    ----------
    target, command, seed, operations, dtypes, elements, longest
        As the command has them.
    said
        How the target is reached.

    Raises
    ------
    UsageError
        If one of them means nothing.
    """
    from attnspec.campaign import Sought
    from attnspec.draws import words_of_draws
    from attnspec.validation import check_asked, check_operation, words

    for operation in operations:
        check_operation(operation)
    drawn_in = words(dtypes)
    check_asked(drawn_in, {})
    sizes = {name: size for name, size in (("elements", elements), ("longest", longest)) if size is not None}
    left_out = frozenset(words(said["without"]))
    _check_left_out(left_out)
    # What is drawn can be left out by words of which an implementation knows nothing.
    of_draws = left_out.intersection(words_of_draws())
    task = _task(target, command, drawn_in, left_out - of_draws, said)
    about = {
        "target": target or command,
        "seed": seed,
        "operations": list(operations),
        "dtypes": list(drawn_in),
        "elements": elements,
        "longest": longest,
        **{name: list(value) if name in _REPEATABLE else value for name, value in said.items()},
    }
    return Asked(Sought(seed, operations, sizes, of_draws), task, about)


def _check_left_out(left_out: frozenset[str]) -> None:
    from attnspec.contract import CAPABILITIES
    from attnspec.draws import can_be_left_out, words_of_draws

    for word in sorted(left_out):
        if not can_be_left_out(word):
            near = get_close_matches(word, (*CAPABILITIES, *words_of_draws()), n=1)
            raise UsageError(
                f"--without {word}: {word!r} is nothing that draws could leave out."
                + (f" Did you mean {near[0]}?" if near else "")
                + " Write a capability or an argument (`attnspec explain capabilities` lists them), or a feature of "
                f"draws: {', '.join(words_of_draws())}."
            )


def _task(
    target: str | None, command: str | None, dtypes: Sequence[str], without: frozenset[str], said: Mapping[str, Any]
) -> Task:
    from attnspec.guard.task import Task
    from attnspec.runner import Share
    from attnspec.validation import check_asked, contract_names, pairs

    conventions = pairs(said["conventions"], "--convention")
    check_asked((), conventions)
    return Task(
        target=target,
        command=command,
        operation=said["bare_operation"],
        renames=contract_names(pairs(said["renames"], "--rename")),
        device=said["device"],
        tensors=said["tensors"],
        backward=said["backward"],
        without=tuple(sorted(without)),
        layout=None,
        dtypes=tuple(dtypes),
        conventions=conventions,
        fail_fast=False,
        isolate=False,
        timeout=said["timeout"],
        start_timeout=None,
        show_stderr=False,
        transcript=None,
        # A draw that takes too long is a result like any other.
        give_up_after=10**9,
        probes=False,
        share=Share(0, 1),
    )
