"""Function to be adapted, from the target that the user typed, and how another file imports it."""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from attnspec.base.errors import TargetError
from attnspec.targets.in_process import own_callables
from attnspec.targets.loading import FILE, locate
from attnspec.targets.single_function import single_function

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Found:
    """The function to be adapted: `attribute`, perhaps with dots, of `module`, in a `folder` if Python needs one."""

    module: str
    attribute: str
    function: Callable[..., Any]
    folder: Path | None
    parameters: Mapping[str, inspect.Parameter]


def find_function(target: str) -> Found:
    """Find the function of ``package.module:function`` or ``./file.py``, which may name one; else `TargetError`."""
    file = FILE.fullmatch(target)
    path = None if file is None else Path(file["path"]).resolve()
    if path is not None and not path.stem.isidentifier():
        raise TargetError(
            f"{path.name!r} cannot be imported by an adapter, because its name is no name in Python; rename it."
        )
    module_name, _, attribute = target[len(file["path"]) if file else 0 :].partition(":")
    found, module = locate(target)
    if isinstance(found, ModuleType):
        attribute = _only_function(found, target)
        found = getattr(found, attribute)
    elif not attribute:
        module_name, _, attribute = module_name.rpartition(".")
    if not callable(found):
        raise TargetError(f"{target} is a {type(found).__name__}; name a function: {target.partition(':')[0]}:FUNCTION")
    if path is not None:
        name, folder = path.stem, path.parent
    else:
        name = module_name if module is None else module.__name__
        # A function of the user's folder, and not of an installed package.
        file = getattr(inspect.getmodule(found), "__file__", None)
        is_own = file is not None and Path(file).resolve().is_relative_to(Path.cwd()) and "site-packages" not in file
        folder = Path.cwd() if is_own else None
    return Found(name, attribute, found, folder, _parameters(found, target))


def _only_function(module: ModuleType, target: str) -> str:
    """Return the one public function that a module defines, or the only one that names say is an operation."""
    single = single_function(module, target, None, {})
    if single is not None:
        return str(getattr(single.function, "__name__", ""))
    own = [name for name in own_callables(module) if not isinstance(getattr(module, name), type)]
    if len(own) != 1:
        defines = f"defines {', '.join(own[:8])}" if own else "defines no function"
        example = own[0] if own else "FUNCTION"
        raise TargetError(f"{target} {defines}: say which function is meant, such as {target}:{example}")
    return own[0]


def _parameters(function: Callable[..., Any], target: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        documented = _documented_signature(function)
        if documented is None:
            raise TargetError(
                f"{target} does not show its arguments, as compiled functions may not. Call it in a function of Python "
                "that names them (spec/guides/kernel-interfaces.md has one), or run `attnspec init` without it, and "
                "write the call into the skeleton."
            ) from None
        return documented


def _documented_signature(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters from the beginning of a docstring, where compiled functions show how they are called."""
    text = " ".join((inspect.getdoc(function) or "").split())
    call = re.match(rf"{re.escape(getattr(function, '__name__', ''))}(\(.*?\))(?: |:|$)", text)
    if call is None:
        return None
    try:
        arguments = ast.parse(f"def f{call[1]}: pass").body[0]
        assert isinstance(arguments, ast.FunctionDef)
        given = arguments.args
        ordinary = [*given.posonlyargs, *given.args]
        defaults = [*[None] * (len(ordinary) - len(given.defaults)), *given.defaults]
        parameters = [
            inspect.Parameter(each.arg, kind, default=_EMPTY if default is None else ast.literal_eval(default))
            for kind, pairs in (
                (inspect.Parameter.POSITIONAL_OR_KEYWORD, zip(ordinary, defaults, strict=True)),
                (inspect.Parameter.KEYWORD_ONLY, zip(given.kwonlyargs, given.kw_defaults, strict=True)),
            )
            for each, default in pairs
        ]
    except (SyntaxError, ValueError):
        return None
    return {parameter.name: parameter for parameter in parameters}
