"""Options of a target; a command gets them as one `Target`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from attnspec.contract import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec.targets.target import Target

_OPTIONS: dict[str, Callable[[Callable[..., int]], Callable[..., int]]] = {
    "renames": click.option(
        "--rename", "renames", multiple=True, metavar="OWN=ARGUMENT", help="Its own name for an argument."
    ),
    "layout": click.option("--layout", metavar="LAYOUT", help=f"{', '.join(LAYOUTS)}; {LAYOUTS[0]} if not said."),
    "strict_table": click.option(
        "--strict-table", is_flag=True, help="In a layout with a table: name no page that must not be read."
    ),
    "operation": click.option("--as", "operation", metavar="OPERATION", help="TARGET is one function: this operation."),
    "tensors": click.option(
        "--tensors", metavar="LIBRARY", help="What it takes and returns: torch, jax, dlpack or numpy."
    ),
    "backward": click.option(
        "--backward", metavar="WAY", help="How to come by the gradients of its functions: autograd."
    ),
    "without": click.option(
        "--without", multiple=True, metavar="WORDS", help="What it does not offer: float_mask,grouped_query."
    ),
    "device": click.option("--device", metavar="DEVICE", help="Where TARGET is to run, if it takes one, such as cuda."),
}
"""The options of a target of Python, in the order in which help shows them."""


def target_options(*, but: tuple[str, ...] = (), **others: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add a target's options to a command, as one `Target` named `target`, but those in `but`; `others` reworded."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def with_target(**given: Any) -> int:
            return function(target=_target_from(given), **given)

        decorated: Callable[..., int] = with_target
        for name, option in reversed({**_OPTIONS, **others}.items()):
            decorated = decorated if name in but else option(decorated)
        return decorated

    return decorate


def _target_from(given: dict[str, Any]) -> Target:
    """Take the options of a target out of the given ones."""
    from dataclasses import fields

    from attnspec.targets.target import Target, target_of

    if given.pop("strict_table", False):
        from attnspec.contract.layout import with_setting

        given["layout"] = with_setting(given["layout"], "strict_table")
    said = {each.name: given.pop(each.name) for each in fields(Target) if each.name in given}
    return target_of(given.pop("target", None), said)
