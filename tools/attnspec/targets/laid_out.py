"""Layouts of an implementation, by name; their meaning for an operation is with its family."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attnspec.contract import FAMILIES
from attnspec.contract.implementation import Declaration
from attnspec.contract.layout import read_layout
from attnspec.families.lookup import family_called, family_of
from attnspec.targets.arranging import LaidOut

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from attnspec.contract.arrangement import Arrangement, Circumstances, Repacked
    from attnspec.contract.implementation import Implementation


def laid_out(implementation: Implementation, layout: str) -> Implementation:
    """Give an implementation of another layout the contract's; tensors that it cannot hold are `Declined`.

    `layout` is one of :data:`attnspec.contract.LAYOUTS`, perhaps with settings; UsageError if there is no such layout
    or setting. An operation whose family has no such layout is passed on as it is.
    """
    name, settings = read_layout(layout)
    if not any(name in family_called(family).layouts for family in FAMILIES):
        return implementation

    def arrange(
        operation: str,
        inputs: Mapping[str, NDArray[Any]],
        attributes: Mapping[str, Any],
        circumstances: Circumstances,
    ) -> Arrangement | Repacked | str | None:
        arranging = family_of(operation).layouts.get(name)
        reported = circumstances._replace(settings=settings)
        return None if arranging is None else arranging(operation, inputs, attributes, reported)

    return LaidOut(implementation, arrange, layout)


def features_first(target: object) -> Implementation:
    """Give an implementation in which a token is a column, every matrix being transposed, the contract's layout.

    Parameters
    ----------
    target
        Anything that :func:`attnspec.load` takes, or an implementation.

    Returns
    -------
    Implementation
        Takes and gives tensors in the contract's layout. It is called once for each batch entry, and once for each head
        where it has no head axis; grouped heads are `Declined`.

    Raises
    ------
    TargetError
        If `target` cannot be found, imported or used.
    """
    from attnspec.targets.loading import load

    is_implementation = isinstance(getattr(target, "declaration", None), Declaration)
    implementation = cast("Implementation", target) if is_implementation else load(target)
    return laid_out(implementation, "features_first")
