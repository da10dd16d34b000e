"""Words of ``attnspec campaign``: what is to be drawn, and of which target."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from attnspec.base.errors import UsageError
from attnspec.contract import CAPABILITIES
from attnspec.guard.task import Task
from attnspec.targets.target import Target, pairs, words
from attnspec.validation import check_dtypes_and_conventions, check_operation
from attnspec_draws import can_be_left_out, words_of_draws
from attnspec_draws.campaign.plan import Sought

_CALLED = {"operation": "bare_operation"}
"""Fields of a target that have another name in the files of campaigns."""


class Request(NamedTuple):
    """Campaign as the command states it; `about` are the words that set it apart, as its file keeps them."""

    sought: Sought
    task: Task
    about: Mapping[str, Any]


def request_of(
    target: Target,
    conventions: tuple[str, ...],
    seed: str,
    operations: tuple[str, ...],
    dtypes: tuple[str, ...],
    elements: int | None,
    longest: int | None,
) -> Request:
    """Read the words of the command; `UsageError` where one of them means nothing."""
    for operation in operations:
        check_operation(operation)
    drawn_in = words(dtypes)
    check_dtypes_and_conventions(drawn_in, {})
    sizes = {name: size for name, size in (("elements", elements), ("longest", longest)) if size is not None}
    left_out = frozenset(target.without)
    _check_left_out(left_out)
    # What is drawn can be left out by words of which an implementation knows nothing.
    of_draws = left_out.intersection(words_of_draws())
    lacks = tuple(sorted(left_out - of_draws))
    declared = pairs(conventions, "--convention")
    check_dtypes_and_conventions((), declared)
    # A draw that takes too long is a result like any other.
    lacking = replace(target, without=lacks)
    task = Task(lacking, dtypes=drawn_in, conventions=declared, give_up_after=10**9, probes=False)
    said = {**target.said, "renames": target.texts("renames"), "without": list(target.without)}
    about = {
        "target": target.name,
        "seed": seed,
        "operations": list(operations),
        "dtypes": list(drawn_in),
        "elements": elements,
        "longest": longest,
        "conventions": list(conventions),
        **{_CALLED.get(name, name): value or None for name, value in said.items() if name != "command"},
    }
    return Request(Sought(seed, operations, sizes, of_draws), task, about)


def _check_left_out(left_out: frozenset[str]) -> None:
    for word in sorted(left_out):
        if not can_be_left_out(word):
            near = get_close_matches(word, (*CAPABILITIES, *words_of_draws()), n=1)
            raise UsageError(
                f"--without {word}: {word!r} is nothing that draws could leave out."
                + (f" Did you mean {near[0]}?" if near else "")
                + " Write a capability or an argument (`attnspec explain capabilities` lists them), or a feature of "
                f"draws: {', '.join(words_of_draws())}."
            )
