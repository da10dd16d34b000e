"""Arguments of a function, printed before it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attnspec.base.plain_text import plain_text
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import own_dtype
from attnspec.contract.implementation import Wrapped

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.targets import Answer, Implementation, Request
    from attnspec.targets.target import Target


class Reported(Wrapped):
    """Implementation that prints its arguments for a case: in its own layout, where it has one."""

    def __init__(self, implementation: Implementation, target: Target, case: Case) -> None:
        super().__init__(implementation)
        self._case = case
        self._layout = target.layout
        self._calls = 0

    def run(self, request: Request) -> Answer:
        """Print the arguments the first time, and call it."""
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
        return self._implementation.run(request)
