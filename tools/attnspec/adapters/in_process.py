"""The in-process adapter: a Python object that holds callables named after operations."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec import conventions
from attnspec.adapters.implementation import Answer, Declaration, Declined, Outputs, Raised, Request
from attnspec.adapters.returned import read_returned
from attnspec.adapters.signatures import read_signature
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.errors import TargetError, Unsupported
from attnspec.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class InProcessImplementation:
    """Python software under test.

    Parameters
    ----------
    holder
        A module or an instance that holds callables named after operations.
    adapter
        How it was reached, for messages and reports.
    renames
        Contract argument to the implementation's own name for it.

    Raises
    ------
    TargetError
        If it holds no operation, or one that cannot be called as the contract says.
    """

    def __init__(self, holder: object, adapter: str, renames: Mapping[str, str] | None = None) -> None:
        self._renames = dict(renames or {})
        self._functions: dict[str, Callable[..., Any]] = {
            name: getattr(holder, name) for name in OPERATIONS if callable(getattr(holder, name, None))
        }
        if not self._functions:
            raise TargetError(
                f"{adapter} holds none of the operations ({', '.join(OPERATIONS)}). "
                "For one function of another name, say which it is: --as OPERATION"
            )
        self._signatures = {
            name: read_signature(function, OPERATIONS[name], self._renames, f"{adapter}: {name}")
            for name, function in self._functions.items()
        }
        self._declaration = _declaration(holder, adapter, tuple(self._functions))

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself."""
        return self._declaration

    def run(self, request: Request) -> Answer:
        """Call the operation; whatever goes wrong in it becomes an answer."""
        operation = OPERATIONS[request.operation]
        function = self._functions.get(request.operation)
        if function is None:
            return Declined(f"{request.operation} is not offered")
        signature = self._signatures[request.operation]
        arguments = {**request.inputs, **request.attributes}
        lacking = signature.lacks(arguments)
        if lacking is not None:
            return Declined(f"it has no argument {lacking!r}")
        pristine = {name: array.copy() for name, array in request.inputs.items()}
        try:
            returned = signature.call(function, arguments, self._renames)
        except Unsupported as refusal:
            return Declined(refusal.reason)
        except NotImplementedError as refusal:
            return Declined(str(refusal) or "not implemented")
        except (Exception, SystemExit) as error:
            return Raised(_sentence(error))
        answer = read_returned(returned, operation)
        if isinstance(answer, Outputs):
            changed = tuple(
                name for name, array in request.inputs.items() if array.tobytes() != pristine[name].tobytes()
            )
            return Outputs(answer.values, changed)
        return answer

    def close(self) -> None:
        """Nothing to release."""


def _sentence(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _declaration(holder: object, adapter: str, operations: tuple[str, ...]) -> Declaration:
    default = holder.__name__ if isinstance(holder, ModuleType) else type(holder).__name__
    name = getattr(holder, "name", None) or default
    version = getattr(holder, "version", None) or (
        getattr(holder, "__version__", None) if isinstance(holder, ModuleType) else None
    )
    declared = cast("Mapping[str, str]", getattr(holder, "conventions", None) or {})
    conventions.check(declared, said_by=adapter)
    return Declaration(
        name=str(name),
        version=None if version is None else str(version),
        adapter=adapter,
        operations=operations,
        dtypes=_dtypes(getattr(holder, "dtypes", None), adapter),
        conventions=dict(declared),
    )


def _dtypes(declared: Iterable[object] | None, adapter: str) -> tuple[str, ...]:
    if declared is None:
        return ("float64",)
    names: list[str] = []
    for dtype in (declared,) if isinstance(declared, str) else declared:
        try:
            name = dtype if isinstance(dtype, str) else np.dtype(cast("Any", dtype)).name
        except TypeError:
            name = str(dtype)
        if name not in FLOAT_DTYPES:
            raise TargetError(f"{adapter} declares the dtype {name!r}; the dtypes are {', '.join(FLOAT_DTYPES)}.")
        names.append(name)
    return tuple(names)
