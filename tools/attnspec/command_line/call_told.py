"""What a function is called with, said before it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attnspec.adapters.wrapped import Wrapped
from attnspec.contract import OPERATIONS
from attnspec.dtypes import own_dtype
from attnspec.plain_text import plain_text

if TYPE_CHECKING:
    from attnspec.adapters import Answer, Implementation, Request
    from attnspec.cases import Case


class Told(Wrapped):
    """An implementation that says what it is called with: in its own layout, where it has one.

    Parameters
    ----------
    implementation
        The software under test.
    case
        What it is asked for.
    layout
        The one that is asked for, over the one that it declares.
    """

    def __init__(self, implementation: Implementation, case: Case, layout: str | None) -> None:
        super().__init__(implementation)
        self._case = case
        self._layout = layout
        self._calls = 0

    def run(self, request: Request) -> Answer:
        """Say what it is called with the first time, and call it."""
        self._calls += 1
        if self._calls == 1:
            order = [*OPERATIONS[request.operation].arguments, *request.inputs]
            given = [name for name in dict.fromkeys(order) if name in request.inputs]
            own = {name: own_dtype(array) for name, array in self._case.inputs.items()}
            inputs = [
                f"{name} {list(request.inputs[name].shape)}{f' in {own[name]}' if own.get(name) else ''}"
                for name in given
            ]
            attributes = [f"{name}={value!r}" for name, value in request.attributes.items()]
            layout = self.declaration.layout if self._layout is None else self._layout
            there = "" if layout is None else f", in the layout {layout}"
            click.echo(
                plain_text(
                    f"{request.operation} is called with {', '.join([*inputs, *attributes]) or 'nothing'}{there}."
                )
            )
        elif self._calls == 2:
            click.echo("It is called again for the next entry, for its layout has no axis for several.")
        return super().run(request)
