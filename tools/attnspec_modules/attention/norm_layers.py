"""Layers that divide tokens by the root of their mean square, as the operation `rms_norm`: made, filled and called."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError, Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec_modules.attention.constructing import Sizes, UndecidedError, constructor_of, made_with
from attnspec_modules.attention.names import plain
from attnspec_modules.libraries import Library, library_called, library_of
from attnspec_modules.libraries.kinds import attributes_of, is_array

_CALLED = re.compile(r"rms_?(?:layer_?)?norm", re.IGNORECASE)
_EPSILON = re.compile(r"(?:\w*norm|variance)?eps(?:ilon)?")
_WIDTHS = ("normalizedshape", "ndim", "nfeatures")

_ALIKE = 0.02
"""Distance from what is right, as a share of it, within which a result may be right and of a narrower dtype."""

_BITS = 2.0**-40


def is_norm(found: object) -> bool:
    """Return whether a class or an instance is called after the root of the mean square."""
    layer_class = found if isinstance(found, type) else type(found)
    return bool(_CALLED.search(layer_class.__name__))


def norm_of(found: object) -> SimpleNamespace:
    """Return a holder of `rms_norm` for a class or an instance, with its dtypes, conventions and `findings`.

    Raises TargetError where it cannot be made, or holds more than one weight for each feature.
    """
    layer_class = found if isinstance(found, type) else type(found)
    called = library_of(found)
    assert called is not None
    norm = _Norm(layer_class, None if found is layer_class else found, library_called(called))
    weight = norm.weight()
    offset = "one" if np.any(norm.run(np.ones((1, 2, 4)), np.zeros(4), 0.5)) else "zero"
    name = layer_class.__name__

    def rms_norm(x: NDArray[Any], weight: NDArray[Any], epsilon: float) -> NDArray[Any]:
        if weight.shape != x.shape[-1:]:
            raise ValueError(f"a weight of shape {weight.shape} for {x.shape[-1:]} features")
        return norm.run(x, weight, epsilon)

    dtypes = norm.dtypes(offset)
    left_out = ", ".join(dtype for dtype in FLOAT_DTYPES if dtype not in dtypes)
    narrower = (f"{left_out}: it comes back in another dtype, or less precise",) if left_out else ()
    epsilon = [f"{own} is epsilon" for own, word in norm.constructor.items() if word == "epsilon"]
    kept = f"{weight} is weight{', to which 1 is added' if offset == 'one' else ''}"
    return SimpleNamespace(
        rms_norm=rms_norm,
        name=name,
        dtypes=dtypes,
        conventions={"input_checks": "lenient", "weight_offset": offset},
        layer_checks=(),
        findings=(f"{name} is rms_norm, read so:", kept, *epsilon, *narrower),
    )


def written_norm(found: object, imports: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the text of an adapter for a norm, and in words what was found of it; `imports` come before its own."""
    layer_class, holder = found if isinstance(found, type) else type(found), norm_of(found)
    name, module = layer_class.__name__, layer_class.__module__
    lines = [
        f'"""{module}.{name} as rms_norm, begun by `attnspec init`."""',
        "",
        *imports,
        f"from {module} import {name}",
        "",
        "from attnspec_modules.attention.norm_layers import norm_of",
        "",
        f"rms_norm = norm_of({name}).rms_norm",
        f"dtypes = {holder.dtypes!r}",
        f"conventions = {holder.conventions!r}",
        "",
    ]
    return "\n".join(lines), holder.findings


class _Norm:
    """A class of norms, made anew for each width and epsilon."""

    def __init__(self, layer_class: type, instance: object, library: Library) -> None:
        self._class, self._library = layer_class, library
        names = [*inspect.signature(layer_class.__init__).parameters][1:]
        said: dict[str, Any] = {name: "epsilon" for name in names if _EPSILON.fullmatch(plain(name))}
        said |= {name: "width" for name in names if plain(name) in _WIDTHS}
        try:
            self.constructor = constructor_of(layer_class, instance, said)
        except UndecidedError as error:
            raise TargetError(
                f"{layer_class.__name__} is made with {error}, which says nothing. Give it a default."
            ) from None

    def _made(self, width: int, epsilon: float, dtype: str) -> Any:
        """Return a norm of so many features; where its constructor takes no epsilon, the one that it keeps is set."""
        keywords = made_with(self.constructor, Sizes(width, 1, 1, 1))
        keywords = {name: epsilon if value == "epsilon" else value for name, value in keywords.items()}
        layer = self._library.made(self._class, keywords, dtype)
        if "epsilon" not in self.constructor.values():
            kept = [name for name in attributes_of(layer) if _EPSILON.fullmatch(plain(name))]
            if not kept:
                raise Unsupported("its epsilon is fixed")
            setattr(layer, kept[0], epsilon)
        return layer

    def weight(self) -> str:
        """Return the path of the one parameter; TargetError where there is another number of them, or shape."""
        name = self._class.__name__
        try:
            kept = self._library.parameters(self._made(5, 0.5, "float32"))
        except Exception as error:
            raise TargetError(f"{name} could not be made for 5 features: {type(error).__name__}: {error}") from None
        if [each.shape for each in kept.values()] != [(5,)]:
            shapes = ", ".join(f"{path} {each.shape}" for path, each in kept.items()) or "nothing"
            raise TargetError(
                f"{name} holds {shapes} for 5 features; rms_norm has one weight for each of them, and nothing else."
            )
        return next(iter(kept))

    def run(self, x: NDArray[Any], weight: NDArray[Any], epsilon: float) -> NDArray[Any]:
        """Return the tokens (..., D) as a norm of that weight (D) gives them back."""
        dtype = x.dtype.name
        layer = self._made(x.shape[-1], epsilon, dtype)
        (path,) = self._library.parameters(layer)
        self._library.fill(layer, {path: weight})
        return self._library.called(layer, [x], {}, dtype)

    def dtypes(self, offset: str) -> tuple[str, ...]:
        """Return the dtypes that come back as given, and as precise; where all is wrong, all that come back."""
        x, weight = np.arange(1, 13).reshape(1, 3, 4) / 8 - 0.5, np.arange(1, 5) / 4
        right = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 0.25) * (weight + (offset == "one"))
        came: dict[str, float] = {}
        for dtype in FLOAT_DTYPES:
            given = numpy_dtype(dtype)
            try:
                output: Any = self.run(x.astype(given), weight.astype(given), 0.25)
            except Exception:
                continue
            if is_array(output) and output.dtype.name == dtype and output.shape == x.shape:
                came[dtype] = float(np.abs(output.astype(np.float64) - right).max() / np.abs(right).max())
        if not came:
            raise TargetError(f"{self._class.__name__} gives none of {', '.join(FLOAT_DTYPES)} back as it was given.")
        rough = {dtype for dtype, distance in came.items() if dtype == "float64" and _BITS < distance < _ALIKE}
        return tuple(dtype for dtype in came if dtype not in rough) or tuple(came)
