"""Opening a target: it is loaded or started, and put behind the layers that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.targets.layers import lacking
from attnspec.targets.loading import loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec.contract.implementation import Implementation
    from attnspec.targets.target import Target

    Layer = Callable[[Implementation, Target], Implementation]
    """Puts a wrapper around an implementation; returns it as it is where the target needs none."""


def open_target(target: Target, *, nearest: Sequence[Layer] = (), outermost: Sequence[Layer] = ()) -> Implementation:
    """Open a target: a program, or Python, here or in a process of its own; layers as in `behind_layers`.

    Raises AttnspecError if it cannot be loaded or started, or a layer finds that it cannot be called so.
    """
    return behind_layers(_reached(target), target, nearest=nearest, outermost=outermost)


def behind_layers(
    implementation: Implementation, target: Target, *, nearest: Sequence[Layer] = (), outermost: Sequence[Layer] = ()
) -> Implementation:
    """Put an implementation behind the layers that its target needs; it is closed if one of them fails.

    The `nearest` layers see it called in its own layout: those of a debugger, of pytest, of the judge. The `outermost`
    are those of the process that guards it.
    """
    try:
        for layer in (lacking, *nearest, in_layout, *outermost):
            implementation = layer(implementation, target)
    except BaseException:
        implementation.close()
        raise
    return implementation


def in_layout(implementation: Implementation, target: Target) -> Implementation:
    """Give an implementation the contract's layout, from the one requested, else declared; UsageError if unknown."""
    layout = target.layout or implementation.declaration.layout
    if layout is None:
        return implementation
    from attnspec.targets.laid_out import laid_out

    return laid_out(implementation, layout)


def _reached(target: Target) -> Implementation:
    """Load a target here, or start it."""
    if target.command is None and not target.isolate and target.timeout is None:
        return loaded(target)
    from attnspec.process.process import ProcessImplementation, isolated

    return isolated(target) if target.command is None else ProcessImplementation(target.command, target)
