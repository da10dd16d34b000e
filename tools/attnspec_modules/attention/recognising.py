"""Which classes and instances are layers of attention, by their bases and methods alone."""

from __future__ import annotations

import inspect

from attnspec_modules.attention.weighted_functions import takes_weights
from attnspec_modules.libraries import library_of, method_of

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_OF_WEIGHTS = (None, "multi_head_attention", "single_head_attention")
_OPERATIONS = (*_OF_WEIGHTS, "latent_attention")


def is_layer(found: object, operation: str | None = None) -> bool:
    """Return whether a class or an instance is a layer, so far as its bases and methods say it.

    `operation` is what it is said to be. A plain class is one if it cannot be made without arguments, as an adapter is,
    and is called without any of the contract's matrices.
    """
    # A compiled function is an object that wraps one.
    if inspect.isroutine(getattr(found, "__wrapped__", found)):
        return operation in _OF_WEIGHTS and takes_weights(found)
    library = library_of(found) if operation in _OPERATIONS else None
    if library != "plain":
        return library is not None
    layer_class: type = found if isinstance(found, type) else type(found)
    method = method_of(layer_class)
    assert method is not None
    try:
        made = list(inspect.signature(layer_class.__init__).parameters.values())[1:]
        names = {*inspect.signature(getattr(layer_class, method)).parameters}
    except (TypeError, ValueError):
        return False
    demanded = {each.name for each in made if each.default is each.empty and each.kind not in _VARIADIC}
    return bool(demanded - {"device", "layout"}) and not names & {"w_query", "w_key", "w_value"}
