"""The libraries that built-in adapters run: imported when an adapter is, with a sentence where that fails."""

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from attnspec.base.errors import MissingDependencyError
from attnspec.tensors import TENSORS

__all__ = ["OWN_EXTRAS", "SHARED_EXTRA", "extra_of", "import_library", "installation", "libraries_of", "likely_tensors"]

SHARED_EXTRA = "implementations"
"""The extra of the libraries that live together in one environment."""

OWN_EXTRAS: Mapping[str, str] = {
    "flax": "flax",
    "keras": "keras",
    "mlx": "mlx",
    "openvino": "openvino",
    "paddle": "paddle",
    "tinygrad": "tinygrad",
}
"""Adapter to the extra of a large, slow or unsociable library: `make libraries` runs it in its own environment."""


def extra_of(adapter: str) -> str:
    """Return the extra that installs what a built-in adapter needs."""
    return OWN_EXTRAS.get(adapter, SHARED_EXTRA)


def import_library(module: str, *, adapter: str) -> Any:
    """Import a third-party module by name, because attnspec is type-checked where it is not installed.

    Raises `MissingDependencyError` with the command that installs it for the adapter.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"The adapter {adapter!r} needs {module.partition('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: {installation(adapter)}"
        ) from error


def installation(adapter: str) -> str:
    """Return the command that installs what a built-in adapter needs beyond attnspec itself."""
    return f'pip install "attnspec[{extra_of(adapter)}]"'


_CONVERTING = frozenset(("from_numpy", "as_tensor", "numpy", "asarray", "array"))
"""Names in the code of a function that may take NumPy's arrays, whatever it computes with."""


def libraries_of(function: Any, module: str | None = None) -> dict[str, str]:
    """Return the libraries whose tensors a function may take, the likeliest first, each with the reason.

    `module` is where it was found, for functions that do not say it.
    """
    used, scope = _names_of(function)
    reasons = {library: f"its code names {library}" for library in _libraries_among(used)}
    for library in _libraries_among(scope):
        reasons.setdefault(library, f"its module imports {library}")
    top = (getattr(function, "__module__", None) or module or "").partition(".")[0]
    return {top: f"it belongs to {top}", **reasons} if top in TENSORS else reasons


def likely_tensors(function: Any) -> str | None:
    """Return the one library beside NumPy whose tensors a function takes, as its code shows; None where it may not."""
    used, scope = _names_of(function)
    named = _libraries_among(used) or _libraries_among(scope)
    others = [library for library in named if library != "numpy"]
    converts = _CONVERTING.intersection(getattr(getattr(function, "__code__", None), "co_names", ()))
    if len(others) != 1 or (converts and not (others == ["jax"] and "numpy" not in named)):
        return None
    return others[0] if others == named or _libraries_among(used) else None


def _names_of(function: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the code of a function names of its module, and all that its module holds."""
    function = getattr(function, "__func__", function)
    scope: dict[str, Any] = getattr(function, "__globals__", None) or vars(
        sys.modules.get(type(function).__module__, sys)
    )
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    return {name: scope[name] for name in names if name in scope}, scope


def _libraries_among(values: Mapping[str, Any]) -> list[str]:
    """Return the libraries of tensors to which modules and functions belong, each once."""
    found: dict[str, None] = {}
    for value in [*values.values()]:
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        library = name.partition(".")[0] if isinstance(name, str) else ""
        if library in TENSORS:
            found[library] = None
    return [*found]
