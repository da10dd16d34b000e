"""The in-process adapter: a Python object that holds callables named after operations."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from inspect import isfunction, isroutine
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError, Unsupported, UsageError
from attnspec.contract import CAPABILITIES, EXAMPLES, OPERATIONS
from attnspec.contract.declarations import check_capabilities, check_conventions
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.contract.implementation import (
    GUESSED,
    Answer,
    Declaration,
    Declined,
    LayerCheck,
    Outputs,
    Raised,
    Request,
)
from attnspec.contract.layout import operation_in, read_layout
from attnspec.contract.operation import Operation
from attnspec.targets.calling import OUR_PACKAGES, Signature, error_position, read_returned, read_signature
from attnspec.targets.handed_out import HandedOut, fingerprint
from attnspec.tensors import TENSORS, Tensors

_NAMES_SHOWN = 5

_COMPUTING = ("forward", "call")
"""Methods by which an object computes, before its ``__call__``, which may take anything."""


class InProcessImplementation:
    """Python software under test: a module or instance `holder` of callables named after operations.

    `renames` has the contract's name first; a `layout` of None is the declared one, `tensors` of None are NumPy's;
    `guessed` says which operation a single function was taken for, where nobody said it.
    TargetError if it holds no operation, or one that cannot be called as the contract says.
    """

    def __init__(
        self,
        holder: object,
        adapter: str,
        renames: Mapping[str, str] | None = None,
        tensors: Tensors | None = None,
        layout: str | None = None,
        backward: str | None = None,
        guessed: str | None = None,
    ) -> None:
        self._renames = dict(renames or {})
        self._tensors = tensors
        self._functions: dict[str, Callable[..., Any]] = {
            name: function for name in OPERATIONS if callable(function := read_attribute(holder, name, adapter))
        }
        if not self._functions:
            raise TargetError(
                f"{adapter} holds none of the operations ({', '.join(OPERATIONS)}). {_hint(holder, adapter)}"
            )
        declared = read_attribute(holder, "layout", adapter)
        # An attribute of that name that is no string is something else.
        declared = _layout(declared, adapter) if isinstance(declared, str) else None
        requested_in, self._operations = layout or declared, OPERATIONS
        if requested_in is not None:
            self._operations = {name: operation_in(name, requested_in) for name in OPERATIONS}
        self._signatures, unfit = _signatures(holder, self._functions, self._operations, self._renames, adapter)
        self._functions = {name: self._functions[name] for name in self._signatures}
        for argument, own in self._renames.items():
            if not any(signature.takes(argument, own) for signature in self._signatures.values()):
                raise TargetError(f"--rename {own}={argument}: no operation of {adapter} has an argument {own!r}.")
        if backward is not None:
            from attnspec.targets.differentiating import differentiated

            passes = differentiated(self._functions, self._signatures, tensors, backward, said_by=adapter)
            self._functions |= passes
            self._signatures |= {name: found.signature for name, found in passes.items()}
        offered = tuple(name for name in OPERATIONS if name in self._functions)
        signatures = self._signatures.items()
        of = "in {name}, " if len(signatures) > 1 else ""
        names_guessed = [
            f"{of.format(name=name)}{signature.guessed}" for name, signature in signatures if signature.guessed
        ]
        self.declaration = replace(
            _declaration(holder, adapter, offered, declared),
            unfit=unfit,
            guessed=f"{GUESSED}{'; '.join(said)}." if (said := [*filter(None, [guessed]), *names_guessed]) else None,
            demands={name: signature.demands for name, signature in signatures if signature.demands},
            never_given={name: signature.never_given for name, signature in signatures if signature.never_given},
            arguments={
                name: tuple(argument for argument in OPERATIONS[name].arguments if argument in signature.names)
                for name, signature in signatures
                if not signature.takes_everything
            },
        )
        self._handed_out = HandedOut()

    def run(self, request: Request) -> Answer:
        """Call the operation; whatever goes wrong in it becomes an answer."""
        function = self._functions.get(request.operation)
        if function is None:
            return Declined(f"{request.operation} is not offered")
        signature = self._signatures[request.operation]
        arguments = self._arguments(request, signature)
        if isinstance(arguments, Declined):
            return arguments
        pristine = {name: fingerprint(array) for name, array in request.inputs.items()}
        try:
            given = request.inputs if self._tensors is None else self._given(request.inputs, self._tensors)
        except Unsupported as refusal:
            return Declined(str(refusal.reason))
        lists = [name for name, value in request.attributes.items() if isinstance(value, list)]
        listed = [repr(request.attributes[name]) for name in lists]
        limit = sys.getrecursionlimit()
        try:
            # Without a context where there are no tensors: a debugger then steps into the function and nothing else.
            if self._tensors is None:
                returned = signature.call(function, arguments)
            else:
                stated = {name: value for name, value in request.attributes.items() if isinstance(value, bool | str)}
                returned = self._tensors.call(
                    lambda tensors: signature.call(function, {**arguments, **tensors}),
                    given,
                    request.operation,
                    (*arguments, *stated.values()),
                )
        except Unsupported as refusal:
            return Declined(str(refusal.reason))
        except NotImplementedError as refusal:
            return Declined(str(refusal) or "not implemented")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            said = _sentence(error)
            hint = _tensors_wanted(said, function) if self._tensors is None else ""
            return Raised(f"{said}{error_position(error)}{hint}", error)
        finally:
            keep_recursion_limit(limit)
        answer = read_returned(returned, self._operations[request.operation], request.inputs, self._tensors)
        del returned  # from now on only the implementation may hold an array
        if isinstance(answer, Outputs):
            after = (
                given if self._tensors is None else {name: self._tensors.array(each) for name, each in given.items()}
            )
            changed = (
                *(name for name, array in after.items() if fingerprint(array) != pristine[name]),
                *(name for name, said in zip(lists, listed, strict=True) if repr(request.attributes[name]) != said),
            )
            kept = {name: array.copy() for name, array in answer.values.items()}
            return Outputs(kept, changed, self._handed_out.overwritten(request, answer.values, kept))
        return answer

    def _arguments(self, request: Request, signature: Signature) -> dict[str, Any] | Declined:
        """Return the arguments of a call; those that the function lacks are left out at the contract's default."""
        arguments = {**request.inputs, **request.attributes}
        lacking = signature.lacks(arguments)
        if lacking is not None:
            arguments = self._operations[request.operation].beside_defaults(arguments, signature.names)
            lacking = signature.lacks(arguments)
        if lacking is not None:
            return Declined(f"it has no argument {lacking!r}")
        if signature.demands and not arguments.keys() >= {*signature.demands}:
            return Declined(f"it demands {' and '.join(signature.demands)}, which are not given")
        return arguments

    def _given(self, inputs: Mapping[str, NDArray[Any]], tensors: Tensors) -> Mapping[str, Any]:
        """Return the tensors that are handed over for the inputs; those that are one array are one tensor."""
        by_array: dict[int, Any] = {}
        for array in inputs.values():
            if id(array) not in by_array:
                by_array[id(array)] = tensors.given(array)
        return {name: by_array[id(array)] for name, array in inputs.items()}

    def close(self) -> None:
        """Nothing to release."""


def read_attribute(holder: object, name: str, adapter: str) -> Any:
    """Return an attribute of an adapter, or None; TargetError if reading it raises, as a property may."""
    try:
        return getattr(holder, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TargetError(f"{adapter}: reading its attribute {name!r} raised {_sentence(error)}") from None


def keep_recursion_limit(limit: int) -> None:
    """Raise the limit of recursion to what it was where foreign code lowered it: the harness needs it."""
    if sys.getrecursionlimit() < limit:
        sys.setrecursionlimit(limit)


def computing(found: object) -> object:
    """Return what computes: the method ``forward`` or ``call`` of an object that has one, else what was found."""
    if isinstance(found, ModuleType | type) or isroutine(found):
        return found
    return next((method for name in _COMPUTING if callable(method := getattr(found, name, None))), found)


def own_callables(holder: ModuleType) -> list[str]:
    """Return the public names that a module gives to functions and classes of its own, in its order."""
    return [
        name
        for name, found in vars(holder).items()
        if callable(found) and not name.startswith("_") and getattr(found, "__module__", None) == holder.__name__
    ]


def _signatures(
    holder: object,
    functions: Mapping[str, Callable[..., Any]],
    operations: Mapping[str, Operation],
    renames: Mapping[str, str],
    adapter: str,
) -> tuple[dict[str, Signature], dict[str, str]]:
    """Return how each function is called, and why not for those that only share an operation's name.

    A step of somebody's attention may well be called ``softmax`` in a file and be none. The error is raised where
    nothing else can be called, and in an object that was made to be tried: there it was meant.
    """
    found: dict[str, Signature] = {}
    unfit: dict[str, TargetError] = {}
    for name, function in functions.items():
        try:
            found[name] = read_signature(function, operations[name], renames, f"{adapter}: {name}")
        except TargetError as error:
            unfit[name] = error
    if unfit and not (found and isinstance(holder, ModuleType)):
        raise next(iter(unfit.values()))
    reasons = {name: str(error) for name, error in unfit.items()}
    if len(found) > 1 and isinstance(holder, ModuleType) and holder.__name__.partition(".")[0] not in OUR_PACKAGES:
        from attnspec.targets.steps_of_others import steps_of_others

        fitting = {name: functions[name] for name in found}
        reasons |= steps_of_others(holder, fitting, operations, adapter)
    return {name: each for name, each in found.items() if name not in reasons}, reasons


def _not_graded(holder: ModuleType) -> tuple[str, ...]:
    """Return the public functions that a user's module defines and that are no operations, nor another name of one."""
    if holder.__name__.partition(".")[0] in OUR_PACKAGES:
        return ()
    found = {name: getattr(holder, name) for name in own_callables(holder)}
    graded = {id(function) for name, function in found.items() if name in OPERATIONS}
    return tuple(name for name, function in found.items() if isfunction(function) and id(function) not in graded)


def _hint(holder: object, adapter: str) -> str:
    """Return what may have been meant by something that holds no operation."""
    if not isinstance(holder, ModuleType):
        return "For one function of another name, say which it is: --as OPERATION"
    own = own_callables(holder)
    for name in own:
        for operation in get_close_matches(name, OPERATIONS, n=1, cutoff=0.85):
            return f"Is {name!r} meant to be {operation!r}?"
    if not own:
        return "It defines no function at all."
    defined = ", ".join(own[:_NAMES_SHOWN])
    return f"It defines {defined}. If one of them is an operation, say which: {adapter}:{own[0]} --as OPERATION"


def _sentence(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _tensors_wanted(said: str, function: Callable[..., Any]) -> str:
    """Return what to declare where a function fails on arrays, and its module has imported a library of tensors."""
    if "ndarray" not in said:
        return ""
    scope = getattr(function, "__globals__", {})
    imported = {value.__name__.partition(".")[0] for value in scope.values() if isinstance(value, ModuleType)}
    library = next((name for name in TENSORS[1:] if name in imported), None)
    return "" if library is None else f"; if it takes tensors of {library}, declare it: --tensors {library}"


def _declaration(holder: object, adapter: str, operations: tuple[str, ...], layout: str | None) -> Declaration:
    default = holder.__name__ if isinstance(holder, ModuleType) else type(holder).__name__
    name = read_attribute(holder, "name", adapter) or default
    version = read_attribute(holder, "version", adapter) or (
        read_attribute(holder, "__version__", adapter) if isinstance(holder, ModuleType) else None
    )
    declared = ("conventions", "without", "dtypes", "layer_checks")
    conventions, without, dtypes, checks = (read_attribute(holder, each, adapter) for each in declared)
    dtypes_of: dict[str, tuple[str, ...]] = {}
    if isinstance(dtypes, Mapping):
        dtypes_of = _dtypes_by_operation(cast("Mapping[object, object]", dtypes), adapter, operations)
        together = {dtype for of_operation in dtypes_of.values() for dtype in of_operation}
        offered = tuple(dtype for dtype in FLOAT_DTYPES if dtype in together)
    else:
        offered = _dtypes(dtypes, adapter)
    return Declaration(
        name=str(name),
        version=None if version is None else str(version),
        adapter=adapter,
        operations=operations,
        dtypes=offered,
        conventions={} if conventions is None else _conventions(conventions, adapter),
        without=() if without is None else _declared_lacks(without, adapter),
        dtypes_of=dtypes_of,
        states_dtypes=dtypes is not None,
        layout=layout,
        not_graded=_not_graded(holder) if isinstance(holder, ModuleType) else (),
        layer_checks=cast("tuple[LayerCheck, ...]", checks) if isinstance(checks, tuple) else (),
        is_layer=isinstance(checks, tuple),
    )


def _conventions(declared: object, adapter: str) -> dict[str, str]:
    if not isinstance(declared, Mapping):
        raise TargetError(
            f"{adapter} declares its conventions as a {type(declared).__name__}; "
            f'declare a dict, such as {{"{EXAMPLES.convention}": "{EXAMPLES.choice}"}}.'
        )
    chosen = {str(name): choice for name, choice in cast("Mapping[object, str]", declared).items()}
    check_conventions(chosen, said_by=adapter)
    return chosen


def _declared_lacks(declared: object, adapter: str) -> tuple[str, ...]:
    if isinstance(declared, str):
        declared = declared.replace(" ", "").split(",")
    if not isinstance(declared, Iterable):
        raise TargetError(
            f"{adapter} declares `without` as a {type(declared).__name__}; declare a tuple of capabilities, such as "
            f'("{next(iter(CAPABILITIES))}",).'
        )
    words = tuple(str(word) for word in cast("Iterable[object]", declared))
    check_capabilities(words, said_by=adapter)
    return words


def _layout(declared: str, adapter: str) -> str:
    """Return the layout that is declared, which must be one."""
    try:
        read_layout(declared)
    except UsageError as problem:
        raise TargetError(f"{adapter} declares the layout {declared!r}. {problem}") from None
    return declared


def _dtypes_by_operation(
    declared: Mapping[object, object], adapter: str, operations: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the dtypes of each operation, where they are declared so."""
    by_operation = {str(name): dtypes for name, dtypes in declared.items()}
    for name in by_operation:
        if name not in OPERATIONS:
            raise TargetError(
                f"{adapter} declares the dtypes of {name!r}, but there is no such operation; "
                f"the operations are {', '.join(OPERATIONS)}."
            )
    # A backward pass that is left out has the dtypes of its forward pass.
    of_forward = {name: by_operation.get(OPERATIONS[name].backward_of or "") for name in operations}
    return {name: _dtypes(by_operation.get(name, of_forward[name]), adapter) for name in operations}


def _dtypes(declared: object, adapter: str) -> tuple[str, ...]:
    if declared is None:
        return ("float64",)
    if isinstance(declared, str) or not isinstance(declared, Iterable):
        declared = (declared,)
    names: list[str] = []
    for dtype in cast("Iterable[object]", declared):
        try:
            name = dtype if isinstance(dtype, str) else np.dtype(cast("Any", dtype)).name
        except TypeError:
            name = str(dtype)
        if name not in FLOAT_DTYPES:
            raise TargetError(f"{adapter} declares the dtype {name!r}; the dtypes are {', '.join(FLOAT_DTYPES)}.")
        names.append(name)
    if not names:
        raise TargetError(f"{adapter} declares no dtype; the dtypes are {', '.join(FLOAT_DTYPES)}.")
    return tuple(names)
