"""Layers as holders of operations: found out, or as an adapter says that they are read."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from attnspec.base.errors import TargetError
from attnspec.contract import OPERATIONS
from attnspec_modules.attention.finding import Finder, find_reading
from attnspec_modules.attention.holder import holder_of
from attnspec_modules.attention.latents.latent_holder import is_latent, latent_holder_of, written_latent_layer
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_adapter_text import adapter_of
from attnspec_modules.attention.layer_reading import Forward, MaskForm, Placement, Reading, Rotation
from attnspec_modules.attention.norm_layers import is_norm, norm_of, written_norm
from attnspec_modules.attention.weighted_functions import FORMS, form_as_read, has_heads_or_biases, is_plain, layer_of
from attnspec_modules.libraries import library_called, library_of

__all__ = ["Forward", "MaskForm", "Placement", "Rotation", "found_layer", "read_layer", "written_layer"]


def found_layer(found: object, renames: Mapping[str, str]) -> SimpleNamespace | None:
    """Return a holder of the operations of a layer: a class, or an instance, of which more are made like it.

    `renames` has own names first. A function that takes its weights is read as a layer that holds them; None for one
    that is an operation as it stands. Raises TargetError, which asks for what cannot be found.
    """
    if inspect.isroutine(found):
        return _of_function(found, renames)
    if is_norm(found):
        return norm_of(found)
    if is_latent(found):
        return latent_holder_of(found, renames)
    layer_class, reading, unclear = _found(found, renames)
    return holder_of(_runner(layer_class, reading), layer_class.__name__, unclear)


def read_layer(layer_class: type, **reading: Any) -> SimpleNamespace:
    """Return a holder of the operations of a layer that is read as said; the keywords are the fields of a reading."""
    return holder_of(_runner(layer_class, Reading(**reading)), layer_class.__name__)


def written_layer(found: object, imports: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the text of an adapter for a layer, and in words what was found of it.

    `imports` are lines that come before the import of the layer's own file.
    """
    if is_norm(found):
        return written_norm(found, imports)
    if is_latent(found):
        return written_latent_layer(found, imports)
    layer_class, reading, unclear = _found(found, {})
    holder = holder_of(_runner(layer_class, reading), layer_class.__name__, unclear)
    operations = tuple(name for name in OPERATIONS if hasattr(holder, name))
    return adapter_of(layer_class, reading, operations, imports), holder.findings


def _of_function(function: Any, renames: Mapping[str, str]) -> SimpleNamespace | None:
    """Return a holder of the operations of a function that takes its weights, in the first form in which it is called.

    None for a function that is an operation as it stands, or may be one: without heads and biases.
    """
    trouble: TargetError | None = None
    for form in FORMS:
        try:
            layer_class, reading, unclear = _found(layer_of(function, form), renames)
        except TargetError as error:
            trouble = trouble or error
            continue
        if is_plain(function, reading):
            return None
        layer_class = layer_of(function, form_as_read(form, reading))
        return holder_of(_runner(layer_class, reading), layer_class.__name__, unclear)
    if trouble is None or not has_heads_or_biases(function):
        return None
    raise trouble


def _found(found: object, renames: Mapping[str, str]) -> tuple[type, Reading, tuple[str, ...]]:
    layer_class = found if isinstance(found, type) else type(found)
    library = library_of(found)
    assert library is not None
    return layer_class, *find_reading(Finder(layer_class, None if found is layer_class else found, library, renames))


def _runner(layer_class: type, reading: Reading) -> LayerRunner:
    library = library_of(layer_class)
    assert library is not None
    return LayerRunner(layer_class, library_called(library), reading)
