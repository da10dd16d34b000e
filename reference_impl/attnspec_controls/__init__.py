"""The controls: right implementations that compute in another way than the reference.

They guard against a suite that fails what is right: every case must pass every control. Only authors need them, so that
they are no part of what is installed.

Examples
--------
>>> from attnspec_controls import controls_of
>>> controls_of("softmax")[0].id
'softmax.by_logarithm'
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from attnspec_controls.control import Control

__all__ = ["CONTROLS", "Control", "controls_of"]

_FAMILIES = [import_module(f"{__name__}.{room.name}") for room in iter_modules(__path__) if room.ispkg]

CONTROLS: tuple[Control, ...] = tuple(control for family in _FAMILIES for control in family.CONTROLS)
"""Every control, family by family, a folder in here each, in the order of the operations in the specification."""


def controls_of(operation: str) -> tuple[Control, ...]:
    """Return the controls of one operation with the contract's arguments, in their order; none for one without any."""
    return tuple(control for control in CONTROLS if control.operation == operation and control.layout is None)
