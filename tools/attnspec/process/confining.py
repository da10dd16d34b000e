"""Confinement of a process before it loads a target: functions that must not be called, and memory."""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ForbiddenCallError(RuntimeError):
    """Call of a function that must not be called."""


def forbid(names: Sequence[str]) -> None:
    """Replace functions, by dotted name, with one that raises when called; a target that is loaded later finds that.

    A name is such as ``torch.nn.functional.scaled_dot_product_attention``. Raises UsageError if there is no such
    function.
    """
    for name in names:
        place, attribute = _place_of(name)
        try:
            setattr(place, attribute, _refusing(name, getattr(place, attribute)))
        except TypeError:
            raise UsageError(
                f"--forbid {name}: it is part of a type that Python lets nobody change; forbid what calls it, or have "
                "its --sandbox see to it."
            ) from None


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process to so many MB; UsageError where the system cannot."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))
    except (ImportError, OSError, ValueError) as error:
        raise UsageError(f"The memory of a process cannot be limited to {megabytes} MB here: {error}.") from None


def _place_of(name: str) -> tuple[Any, str]:
    """Return the module or class that holds a function, and its name there."""
    *modules, attribute = name.split(".")
    for length in range(len(modules), 0, -1):
        try:
            place: Any = import_module(".".join(modules[:length]))
            for part in modules[length:]:
                place = getattr(place, part)
        except (ImportError, AttributeError):
            continue
        if callable(getattr(place, attribute, None)):
            return place, attribute
    raise UsageError(f"--forbid {name}: there is no such function; write its dotted name, as it is imported.")


def _refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def refused(*_arguments: Any, **_named: Any) -> Any:
        raise ForbiddenCallError(f"{name} was called, which is forbidden here")

    # `wraps` leaves the function there.
    del refused.__wrapped__
    return refused
