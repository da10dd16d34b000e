"""Main part of a user's file: the one function or class that it is about, where other functions only serve it.

Homework has a ``softmax`` of its own, which the attention beside it calls, or a class and nothing else. An adapter,
which declares something, or whose functions are operations that nothing else calls, has no such part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isfunction
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from attnspec.base.errors import TargetError, UsageError
from attnspec.base.extensions import IS_LAYER, import_object
from attnspec.contract import OPERATIONS
from attnspec.targets.calling import codes_in, read_signature
from attnspec.targets.in_process import own_callables

if TYPE_CHECKING:
    from attnspec.targets.single_function import Single


def main_part(module: ModuleType, adapter: str, declared: Sequence[str], renames: Mapping[str, str]) -> object | None:
    """Return the function or class that a file is about beside operations, or in place of them; None for no such one.

    `declared` are attributes by which a module says that it is an adapter, `renames` own names to the contract's.
    Raises TargetError where a file without operations has several such parts.
    """
    if any(hasattr(module, name) for name in declared):
        return None
    own = {name: getattr(module, name) for name in own_callables(module)}
    kept = {name for name in own if name in OPERATIONS}
    callers = [each for name, each in own.items() if name not in kept and (not kept or kept & _names_used(each))]
    meant = [each for each in callers if _is_layer(each) or _is_another_operation(each, module, kept, renames)]
    meant += [own[name] for name in kept if _takes_weights(name, own[name])]
    # What serves another part is none by itself.
    serving = {name for each in meant for name in _names_used(each)}
    meant = [each for each in meant if each.__name__ not in serving]
    if len(meant) > 1 and not kept:
        names = ", ".join(each.__name__ for each in meant)
        raise TargetError(f"{adapter} defines {names}. Say which one is meant: {adapter}:{meant[0].__name__}")
    return meant[0] if len(meant) == 1 else None


def sure_function(function: FunctionType, module: ModuleType, renames: Mapping[str, str]) -> Single | None:
    """Return a function as the operation that names say it is; None where nothing but its number of arguments does."""
    from attnspec.targets.single_function import guess_function

    try:
        guess = guess_function(function, function.__name__, module, renames)
    except UsageError:
        return None
    return guess.named(function.__name__) if guess.is_sure else None


def with_operation(module: ModuleType, operation: str, function: object) -> ModuleType:
    """Return a module that holds a function as an operation, beside all that it has."""
    copy = ModuleType(module.__name__, module.__doc__)
    vars(copy).update({**vars(module), operation: function})
    return copy


def _is_layer(found: object) -> bool:
    return bool(import_object(IS_LAYER)(found, None))


def _takes_weights(name: str, function: object) -> bool:
    """Return whether a function is an operation by its name alone: it is called otherwise, and with its weights."""
    if not isfunction(function):
        return False
    try:
        read_signature(function, OPERATIONS[name], {}, name)
    except TargetError:
        return _is_layer(function)
    return False


def _is_another_operation(found: object, module: ModuleType, kept: set[str], renames: Mapping[str, str]) -> bool:
    """Return whether a function is, by its name or arguments, an operation that a file does not hold beside others."""
    single = sure_function(found, module, renames) if kept and isfunction(found) else None
    return single is not None and single.operation not in kept


def _names_used(found: Any) -> set[str]:
    """Return the names that the code of a function or of a class's methods uses."""
    kept = {"": found} if isfunction(found) else cast("Mapping[str, object]", vars(found))
    functions = [each for each in kept.values() if isfunction(each)]
    return {name for function in functions for code in codes_in(function.__code__) for name in code.co_names}
