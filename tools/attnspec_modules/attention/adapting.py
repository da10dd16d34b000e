"""Layers as holders of operations, and which classes and instances are layers."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

from attnspec_modules.attention.finding import find_reading
from attnspec_modules.attention.holder import holder_of
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.libraries import library_called, library_of


def found_layer(found: object, renames: Mapping[str, str]) -> SimpleNamespace:
    """Return a holder of the operations of a layer: a class, or an instance, of which more are made like it.

    `renames` has own names first. Raises TargetError, which asks for what cannot be found.
    """
    layer_class = found if isinstance(found, type) else type(found)
    library = library_of(found)
    assert library is not None
    reading, unclear = find_reading(layer_class, None if found is layer_class else found, library, renames)
    runner = LayerRunner(layer_class, library_called(library), reading)
    return holder_of(runner, layer_class.__name__, unclear)
