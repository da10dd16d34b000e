"""Patches: the reference, but for one thing.

A mistake is best understood beside what is right. So it is not written as an implementation of its own, but as the
reference with one step replaced, one argument changed, or one argument not heard. The same holds for controls, which
differ from the reference and are right.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, result_dtype, round_to, widen

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

Outputs: TypeAlias = Mapping[str, Any] | tuple[Any, ...]
"""What a computation returns: outputs by name, or a named tuple of them."""

Computation: TypeAlias = Callable[..., Outputs]
"""An operation that takes its arguments by keyword."""


def patch(function: Callable[Parameters, Returned], **replaced: object) -> Callable[Parameters, Returned]:
    """Rebuild a function of the reference with some of the names that it uses replaced, mostly by another function.

    Code, signature, name and description stay the same, and the original is untouched. Overflow and invalid numbers
    pass quietly, because a wrong computation meets more of them than a right one.

    Raises
    ------
    ValueError
        The function uses no global of that name, so the patch would silently equal the original; or its
        arguments were already changed, which would silently be lost.
    """
    inner = cast("FunctionType", function)
    while (wrapped := getattr(inner, "__wrapped__", None)) is not None:
        if inner.__globals__ is globals():
            raise ValueError(
                f"{inner.__name__} already differs in its arguments; replace its steps first, its arguments then."
            )
        inner = cast("FunctionType", wrapped)
    for name in replaced:
        if name not in inner.__code__.co_names or name not in inner.__globals__:
            raise ValueError(
                f"{inner.__name__} uses no global named {name!r}, so nothing would change; "
                "name a function that it calls."
            )
    rebuilt = FunctionType(
        inner.__code__, {**inner.__globals__, **replaced}, inner.__name__, inner.__defaults__, inner.__closure__
    )
    rebuilt.__kwdefaults__ = inner.__kwdefaults__
    rebuilt = wraps(inner)(rebuilt)
    # The rebuilt function must not lead back to the original, or a patch of it would lose this one.
    del rebuilt.__wrapped__
    return np.errstate(all="ignore")(cast("Callable[Parameters, Returned]", rebuilt))


def altered(function: Callable[..., Returned], **changes: Callable[[Any], Any]) -> Callable[..., Returned]:
    """Change arguments on their way in, each by a function of its value; what is absent or None stays so."""

    @wraps(function)
    def computed(*positional: Any, **arguments: Any) -> Returned:
        for name, change in changes.items():
            if arguments.get(name) is not None:
                arguments[name] = change(arguments[name])
        return function(*positional, **arguments)

    return computed


def ignoring(function: Callable[..., Returned], *names: str) -> Callable[..., Returned]:
    """Make a function deaf to some of its arguments: they keep their defaults."""

    @wraps(function)
    def computed(*positional: Any, **arguments: Any) -> Returned:
        heard = {name: value for name, value in arguments.items() if name not in names}
        return function(*positional, **heard)

    return computed


def on_calls(
    function: Callable[..., Any], when: Callable[[Mapping[str, Any]], bool], patched: Callable[..., Any]
) -> Callable[..., Any]:
    """Patch a function on those calls alone for which something holds of all the arguments."""

    @wraps(function)
    def computed(**arguments: Any) -> Any:
        return (patched if when(arguments) else function)(**arguments)

    return computed


def ignoring_where(
    function: Callable[..., Returned], when: Callable[[Mapping[str, Any]], bool], *names: str
) -> Callable[..., Returned]:
    """Make a function deaf to some of its arguments on those calls for which something holds of all of them."""
    return on_calls(function, when, ignoring(function, *names))


def exchanging(function: Callable[..., Returned], *pairs: tuple[str, str]) -> Callable[..., Returned]:
    """Mix up arguments: each of a pair of names is passed as the other."""
    other = {**dict(pairs), **{second: first for first, second in pairs}}

    @wraps(function)
    def computed(**arguments: Any) -> Returned:
        return function(**{other.get(name, name): value for name, value in arguments.items()})

    return computed


def defaulting(
    function: Callable[..., Returned], **formulas: Callable[[Mapping[str, Any]], Any]
) -> Callable[..., Returned]:
    """Give arguments another default, a function of all that are given; where one is stated, nothing changes."""

    @wraps(function)
    def computed(**arguments: Any) -> Returned:
        for name, formula in formulas.items():
            if arguments.get(name) is None:
                arguments[name] = formula(arguments)
        return function(**arguments)

    return computed


def replacing(function: Callable[..., Any], **changes: Callable[[Any, Mapping[str, Any]], Any]) -> Callable[..., Any]:
    """Compute rightly, and replace outputs, each by a function of all that are right and of the arguments."""

    @wraps(function)
    def computed(**arguments: Any) -> Any:
        right = function(**arguments)
        return right._replace(**{name: change(right, arguments) for name, change in changes.items()})

    return computed


def named_output(function: Callable[..., Array]) -> Computation:
    """Return the single array of an operation under its name, ``output``."""

    @wraps(function)
    def computation(**arguments: Any) -> Outputs:
        return {"output": function(**arguments)}

    return computation


def in_working_precision(function: Callable[..., Any]) -> Computation:
    """Make a computation in float64 or float32 one for every float dtype: widen inputs, round outputs, once each.

    The computation may return an array, a named tuple or a mapping. Outputs come back by name, in the dtype of the
    first array that is given.
    """

    @np.errstate(all="ignore")
    @wraps(function)
    def computation(**arguments: Any) -> Outputs:
        floats = {name: array for name, array in arguments.items() if is_float_array(array)}
        dtype = result_dtype(next(iter(floats.values()), 0.0))
        returned = function(**{**arguments, **{name: widen(array, dtype) for name, array in floats.items()}})
        return {name: round_to(dtype, array) for name, array in by_name(returned).items()}

    return computation


def in_single_precision(function: Callable[..., Any]) -> Computation:
    """Compute float64 in float32; all other dtypes as is right."""

    @np.errstate(all="ignore")
    @wraps(function)
    def computation(**arguments: Any) -> Outputs:
        dtype = next(array.dtype for array in arguments.values() if is_float_array(array))
        if dtype != np.float64:
            return function(**arguments)
        narrowed = {
            name: given.astype(np.float32) if is_float_array(given) else given for name, given in arguments.items()
        }
        return {name: array.astype(dtype) for name, array in by_name(function(**narrowed)).items()}

    return computation


def cut_to_bfloat16(array: Array) -> Array:
    """Keep the upper 16 bits of float32, which is what bfloat16 holds."""
    bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(array.dtype)


def is_float_array(argument: Any) -> bool:
    """Distinguish a tensor that is widened from masks of truth values and from attributes."""
    return hasattr(argument, "dtype") and result_dtype(argument) == argument.dtype


def by_name(returned: Any) -> Mapping[str, Array]:
    """Name the outputs of an operation that are there; an array alone is ``output``."""
    if isinstance(returned, Mapping):
        return cast("Mapping[str, Array]", returned)
    if not hasattr(returned, "_asdict"):
        return {"output": returned}
    return {name: array for name, array in returned._asdict().items() if array is not None}


def through_float16(array: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Read bfloat16 by way of float16, which holds neither its large numbers nor its small ones.

    It stands for :func:`attnspec_reference.precision.widen`, a step that every operation has.
    """
    numbers = np.asarray(array)
    # Known by name, so that the package that defines bfloat16 need not be imported.
    return widen(numbers.astype(np.float16) if numbers.dtype.name == "bfloat16" else numbers, dtype)
