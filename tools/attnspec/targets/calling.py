"""Calls of a Python function: the contract's arguments are handed to it, and its return value is read."""

import inspect
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType, TracebackType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError
from attnspec.contract.implementation import Malformed, Outputs
from attnspec.contract.operation import REQUIRED, Operation, Typed
from attnspec.families.lookup import family_of
from attnspec.tensors import TENSORS, Tensors

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Signature:
    """How one callable takes the arguments of one operation; `names` maps contract names to its own.

    `takes_everything`: it has ``**kwargs``, or cannot be read. `positional`: own names that must go by position, with
    their defaults. `demanded`: optional contract arguments for which it has no default, with that of the contract;
    `demands` are those of them that follow from others, by a forward pass or by shapes: nothing stands for them.
    `never_given`: own names with a default that are none of the contract's. `guessed` says in words which names were
    guessed, empty where none had to be.
    """

    names: Mapping[str, str]
    takes_everything: bool = False
    positional: Mapping[str, Any] = field(default_factory=dict[str, Any])
    demanded: Mapping[str, Any] = field(default_factory=dict[str, Any])
    demands: tuple[str, ...] = ()
    never_given: tuple[str, ...] = ()
    guessed: str = ""
    # No property: a debugger that traces a call would step into it.
    _is_the_contracts: bool = field(init=False)

    def __post_init__(self) -> None:
        is_the_contracts = not (
            self.positional or self.demanded or any(name != own for name, own in self.names.items())
        )
        object.__setattr__(self, "_is_the_contracts", is_the_contracts)

    def takes(self, argument: str, own_name: str) -> bool:
        """Return whether the callable takes `argument` under `own_name`."""
        return self.names.get(argument) == own_name

    def lacks(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the first argument that the callable does not take, or None."""
        if self.takes_everything or arguments.keys() <= self.names.keys():
            return None
        return next(name for name in arguments if name not in self.names)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call `function` with `arguments` under its own names."""
        if self._is_the_contracts:
            return function(**arguments)
        own = {self.names.get(name, name): value for name, value in {**self.demanded, **arguments}.items()}
        if not self.positional:
            return function(**own)
        # To give the third by position, the first two are given as well, if only at their defaults.
        length = max((number for number, name in enumerate(self.positional, 1) if name in own), default=0)
        by_position = [own.pop(name, default) for name, default in islice(self.positional.items(), length)]
        return function(*by_position, **own)


def read_signature(
    function: Callable[..., Any], operation: Operation, renames: Mapping[str, str], where: str
) -> Signature:
    """Read how `function` takes the arguments of `operation`; `renames` has the contract's name first.

    Decorators are looked through by ``__wrapped__``. Where a required argument goes by another name, names are guessed.
    Raises TargetError if that fails, or the signature demands something unknown.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return Signature(renames, takes_everything=True)
    takes_everything = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    own_names = [name for name, parameter in parameters.items() if parameter.kind not in _VARIADIC]
    names: dict[str, str] = {}
    for argument in operation.arguments:
        # A rename that is meant for another operation does not count.
        for own in (renames.get(argument), argument):
            if own is not None and (takes_everything or own in own_names):
                names[argument] = own
                break
    guessed = ""
    if any(argument not in names for argument in operation.required_arguments):
        from attnspec.targets.naming import demanded_names, in_order, named_arguments

        by_names = named_arguments(own_names, operation, names)
        free = [name for name in demanded_names(parameters) if name not in by_names.own.values()]
        in_their_order = in_order(by_names, operation, free)
        # One demanded argument more than the operation has, and it is another function.
        named = by_names if in_their_order is None or len(in_their_order.by_order) < len(free) else in_their_order
        guessed = named.in_words_beside(names)
        names = dict(named.own)
    theirs = set(names.values())
    strangers = [
        name for name in own_names if name not in theirs and parameters[name].default is inspect.Parameter.empty
    ]
    missing = [argument for argument in operation.required_arguments if argument not in names]
    if missing:
        others = [name for name in own_names if name not in theirs and name not in strangers]
        proposed = zip_longest(missing, [*strangers, *others][: len(missing)], fillvalue="NAME")
        goes = "it goes by another name" if len(missing) == 1 else "they go by other names"
        raise TargetError(
            f"{where}({', '.join(own_names)}) has no argument {', '.join(map(repr, missing))}, which {operation.name} "
            f"needs. If {goes} there, say so: {' '.join(f'--rename {own}={argument}' for argument, own in proposed)}"
        )
    if strangers:
        raise TargetError(
            f"{where}({', '.join(own_names)}) demands {strangers[0]!r}, which {operation.name} does not have. "
            f"Give it a default, or rename it: --rename {strangers[0]}=ARGUMENT "
            f"(arguments: {', '.join(operation.arguments)})."
        )
    optional = dict.fromkeys(operation.optional_inputs) | {
        name: default for name, default in operation.attributes.items() if default is not REQUIRED
    }
    without_default = {
        name: default
        for name, default in optional.items()
        if names.get(name) in own_names and parameters[names[name]].default is inspect.Parameter.empty
    }
    follow = {*operation.derived, *family_of(operation.name).unstated.get(operation.name, {})}
    demands = tuple(name for name in without_default if name in follow)
    demanded = {name: default for name, default in without_default.items() if name not in demands}
    positional = {name: parameters[name].default for name in own_names if parameters[name].kind is _POSITIONAL_ONLY}
    never_given = tuple(name for name in own_names if name not in theirs)
    return Signature(names, takes_everything, positional, demanded, demands, never_given, guessed)


def outputs_by_name(
    returned: object, operation: Operation, given: Mapping[str, Typed]
) -> dict[str, object] | Malformed:
    """Name the outputs in a return value: one alone, a tuple in the contract's order, or a mapping.

    A tuple may leave out outputs that depend on inputs not in `given`, or hold None there. `Malformed` is a sentence
    about what has no name.
    """
    if type(returned) is np.ndarray:
        return {operation.outputs[0]: returned}
    if returned is None:
        return Malformed(f"{operation.name} returned None; it should return {operation.outputs[0]}.")
    if isinstance(returned, tuple):
        values = cast("tuple[object, ...]", returned)
        if len(values) > len(operation.outputs):
            return Malformed(
                f"{operation.name} returned {len(values)} outputs; it has {len(operation.outputs)}: "
                f"{', '.join(operation.outputs)}."
            )
        names = operation.outputs
        if len(values) < len(names) and not any(value is None for value in values):
            there = operation.existing_outputs(given)
            names = there if len(values) <= len(there) else names
        if len(values) < len(names):
            return _named_in_order(values, names, operation, given)
        return dict(zip(names, values, strict=False))
    if not isinstance(returned, Mapping):
        return {operation.outputs[0]: returned}
    entries = dict(cast("Mapping[str, object]", returned))
    for name in entries:
        if name not in operation.outputs:
            return Malformed(
                f"{operation.name} returned the unknown output {name!r}; its outputs are "
                f"{', '.join(operation.outputs)}."
            )
    return entries


def _named_in_order(
    values: Sequence[object], names: Sequence[str], operation: Operation, given: Mapping[str, Typed]
) -> dict[str, object]:
    """Name values in the order of the outputs; one without the rank of an optional output is the next that has it."""
    required, found, left = operation.required(given), dict[str, object](), iter(names)
    for value in values if all(value is not None for value in values) else ():
        rank = getattr(value, "ndim", None)
        for name in left:
            axes = operation.axes[name]
            if name in required or rank is None or not axes or rank == len(axes):
                found[name] = value
                break
    return found if len(found) == len(values) else dict(zip(names, values, strict=False))


def read_returned(
    returned: object, operation: Operation, given: Mapping[str, Typed], tensors: Tensors | None = None
) -> Outputs | Malformed:
    """Read an array, a tuple in the contract's order, or a mapping as the outputs expected for the inputs `given`.

    The arrays stay in the memory in which they were returned where NumPy can see it. `Malformed` is a sentence about
    what cannot be read; where it is known already, it is passed on.
    """
    entries = returned if isinstance(returned, Malformed) else outputs_by_name(returned, operation, given)
    if isinstance(entries, Malformed):
        return entries
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in entries.items():
        if value is None:
            continue
        array = _as_array(value if tensors is None else tensors.returned(value))
        if array is None:
            library = type(value).__module__.partition(".")[0]
            hint = f' If it computes with {library}, declare tensors = "{library}".' if library in TENSORS[1:] else ""
            return Malformed(
                f"{operation.name} returned {_kind(value)} as {name!r}; return a NumPy array, a tuple of arrays in "
                f"the order {', '.join(operation.outputs)}, or a dict of arrays by name.{hint}"
            )
        arrays[name] = array
    if len(arrays) < len(operation.gives) and any(
        output.required and output.name not in arrays for output in operation.gives
    ):
        required = operation.required(given)
        for name in operation.always_required(given):
            if name not in arrays:
                which = "the output that is expected" if len(required) == 1 else "which is expected"
                return Malformed(f"{operation.name} returned no {name!r}, {which}.")
    return Outputs(arrays)


_NUMBERS_BESIDE_NUMPY = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""The dtypes of numbers that NumPy takes for raw bytes."""


@cache
def _holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is of numbers or Booleans; kept, for NumPy makes the name of a dtype anew each time."""
    return dtype.kind in "bifu" or dtype.name in _NUMBERS_BESIDE_NUMPY


def _as_array(value: object) -> NDArray[Any] | None:
    """Return an array-like as an array of numbers or Booleans, or None."""
    if type(value) is np.ndarray and _holds_numbers(value.dtype):
        return value
    try:
        if isinstance(value, list | str | bytes) or not (
            hasattr(value, "__array__") or isinstance(value, int | float | np.generic)
        ):
            return None
        array = np.asarray(value)
    except Exception:
        return None
    return array if _holds_numbers(array.dtype) else None


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {cast('Any', value).dtype}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


_NOT_THE_USERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
OUR_PACKAGES = (
    "attnspec",
    *(f"attnspec_{part}" for part in ("adapters", "draws", "mistakes", "modules", "probes", "reference", "vectors")),
)
"""What is installed with attnspec, and so is no code of a user's."""


def error_position(error: BaseException) -> str:
    """Return " (line N of FILE)" for the innermost frame in a file of the user's own; empty where there is none.

    The standard library, installed packages and attnspec itself are not the user's own.
    """
    position = ""
    for frame, line in walk_tb(error.__traceback__):
        if _is_the_users(frame):
            position = f" (line {line} of {file_in_words(frame.f_code.co_filename)})"
    return position


def file_in_words(path: str) -> str:
    """Return the name of a file; that of a notebook's cell is a number which nobody has seen."""
    file = Path(path)
    is_cell = file.parent.name.startswith("ipykernel_") or file.name.startswith("<ipython-input")
    return "its cell" if is_cell else file.name


def beyond_attnspec(error: BaseException) -> TracebackType | None:
    """Return the traceback from the first frame on that is not of attnspec or a built-in implementation, or None."""
    position = error.__traceback__
    while position is not None and _package(position.tb_frame) in OUR_PACKAGES:
        position = position.tb_next
    return position


def to_the_users_frame(traceback: TracebackType) -> TracebackType:
    """Return a traceback that ends at its innermost frame in a file of the user's own; whole where there is none."""
    positions = [traceback]
    while positions[-1].tb_next is not None:
        positions.append(positions[-1].tb_next)
    last = max((number for number, position in enumerate(positions) if _is_the_users(position.tb_frame)), default=None)
    if last is None:
        return traceback
    kept: TracebackType | None = None
    for position in reversed(positions[: last + 1]):
        kept = TracebackType(kept, position.tb_frame, position.tb_lasti, position.tb_lineno)
    assert kept is not None
    return kept


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Give code, and that of the functions and comprehensions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_in(inner)


def _is_the_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return _package(frame) not in OUR_PACKAGES and not file.startswith(("<", *_NOT_THE_USERS))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
