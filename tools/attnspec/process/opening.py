"""Opening a target: it is loaded or started, and put behind the layers that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.contract.declarations import check_capabilities
from attnspec.contract.implementation import Answer, Implementation, Request, TimedOut, Wrapped
from attnspec.targets.loading import loaded

if TYPE_CHECKING:
    from attnspec.targets.target import Target

    Layer = Callable[[Implementation, Target], Implementation]
    """Puts a wrapper around an implementation; returns it as it is where the target needs none."""

TIMEOUTS_IN_A_ROW = 3
"""After so many the rest is not run, where the user does not say."""


class GaveUpError(Exception):
    """The implementation is not called any more, because it timed out too often in a row."""


def open_target(
    target: Target, *, dtypes: Sequence[str] = (), nearest: Sequence[Layer] = (), outermost: Sequence[Layer] = ()
) -> Implementation:
    """Open a target: a program, or Python, here or in a process of its own; dtypes and layers as in `behind_layers`.

    Raises AttnspecError if it cannot be loaded or started, or a layer finds that it cannot be called so.
    """
    if target.command is None and not target.isolate and target.timeout is None:
        implementation: Implementation = loaded(target)
    else:
        from attnspec.process.process import ProcessImplementation, isolated

        implementation = isolated(target) if target.command is None else ProcessImplementation(target.command, target)
    return behind_layers(implementation, target, dtypes=dtypes, nearest=nearest, outermost=outermost)


def behind_layers(
    implementation: Implementation,
    target: Target,
    *,
    dtypes: Sequence[str] = (),
    nearest: Sequence[Layer] = (),
    outermost: Sequence[Layer] = (),
) -> Implementation:
    """Put an implementation behind the layers that its target needs; it is closed if one of them fails.

    The `dtypes` that the user requests are those of an implementation that says nothing of its own; capabilities that
    the user says are lacking are so beside those declared.

    It is given the contract's layout, from the one requested, else declared; UsageError if there is no such one.
    The `nearest` layers see it called in its own layout: those of a debugger, of pytest, of the judge. The `outermost`
    are those of the process that guards it.
    """
    try:
        declared = implementation.declaration
        if dtypes and not declared.states_dtypes:
            implementation = Wrapped(implementation, replace(declared, dtypes=tuple(dict.fromkeys(dtypes))))
        if target.without:
            check_capabilities(target.without, said_by="The command")
            declared = implementation.declaration
            together = tuple(dict.fromkeys((*declared.without, *target.without)))
            implementation = Wrapped(implementation, replace(declared, without=together))
        for layer in nearest:
            implementation = layer(implementation, target)
        layout = target.layout or implementation.declaration.layout
        if layout is not None:
            from attnspec.targets.laid_out import laid_out

            implementation = laid_out(implementation, layout)
        for layer in outermost:
            implementation = layer(implementation, target)
    except BaseException:
        implementation.close()
        raise
    return implementation


class Timeouts(Wrapped):
    """An implementation, in a process that can be timed, that is given up after `timeouts` timeouts in a row."""

    def __init__(self, implementation: Implementation, timeouts: int) -> None:
        super().__init__(implementation)
        self._timeouts = timeouts
        self._in_a_row = 0

    def run(self, request: Request) -> Answer:
        """Answer one request; GaveUpError if the last ones all timed out."""
        if self._in_a_row >= self._timeouts:
            raise GaveUpError
        answer = self._implementation.run(request)
        self._in_a_row = self._in_a_row + 1 if isinstance(answer, TimedOut) else 0
        return answer


def giving_up(implementation: Implementation, target: Target, timeouts: int | None) -> Implementation:
    """Give an implementation up after timeouts in a row; one that runs in this process cannot be timed."""
    return implementation if target.is_imported else Timeouts(implementation, timeouts or TIMEOUTS_IN_A_ROW)
