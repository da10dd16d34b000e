"""From what the user typed to an implementation: built-in names, installed adapters, modules, files, objects."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from inspect import isfunction
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Unpack

from attnspec.base.errors import AttnspecError, TargetError
from attnspec.base.extensions import BUILT_IN, IS_LAYER, LAYERS, import_object
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Implementation
from attnspec.targets.calling import OUR_PACKAGES, error_position
from attnspec.targets.in_process import InProcessImplementation, computing, keep_recursion_limit, read_attribute
from attnspec.targets.target import LoadOptions, Target, spelled_out, target_of
from attnspec.tensors import tensors_called

if TYPE_CHECKING:
    from attnspec.targets.single_function import Single

ENTRY_POINTS = "attnspec.adapters"

_DECLARED = ("dtypes", "conventions", "without", "tensors", "backward", "layout", "version")

FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<attribute>[^:]*))?")
"""A target that is a file. The path may hold a colon itself, as those with a drive letter do."""


@spelled_out(LoadOptions)
def load(target: object, **options: Unpack[LoadOptions]) -> Implementation:
    """Return the implementation that `target` names or is.

    Parameters
    ----------
    target
        A built-in name, an installed adapter's name, ``package.module``, ``package.module:attribute``, ``./file.py``,
        ``./file.py:attribute``; or, from Python, a module, an instance, a class, a callable. A loaded implementation is
        returned as it is.
    bare_operation
        The operation for which a single function stands (``--as``).
    renames
        Contract argument to the implementation's own name for it.
    device
        Where it is to run, in its own words, such as ``"cuda"``; None leaves it to the implementation. It is passed to
        a class or a factory that has an argument `device`, and its tensors are handed over there.
    tensors
        The library whose tensors it takes and returns, one of :data:`attnspec.tensors.TENSORS`; if None, the declared
        one, else NumPy's arrays.
    layout
        The layout in which it is called, over the declared one. It is passed to a class or a factory that has an
        argument `layout`.
    backward
        How it comes to backward passes that it does not hold, one of
        :data:`attnspec.targets.differentiating.BACKWARD`; if None, as declared, else not at all.

    Raises
    ------
    TargetError
        If it cannot be found, imported or used, or takes no device.
    """
    renames = {own: argument for argument, own in (options.get("renames") or {}).items()}
    said = {**options, "operation": options.get("bare_operation"), "renames": renames}
    return loaded(target_of(target, {name: value for name, value in said.items() if name != "bare_operation"}))


def features_first(target: object) -> Implementation:
    """Give an implementation in which a token is a column, every matrix being transposed, the contract's layout.

    Parameters
    ----------
    target
        Anything that :func:`attnspec.load` takes, or an implementation.

    Returns
    -------
    Implementation
        Takes and gives tensors in the contract's layout. It is called once for each batch entry, and once for each head
        where it has no head axis; grouped heads are `Declined`.

    Raises
    ------
    TargetError
        If `target` cannot be found, imported or used.
    """
    from attnspec.targets.laid_out import laid_out

    implementation = target if isinstance(target, Implementation) else load(target)
    return laid_out(implementation, "features_first")


def loaded(target: Target) -> Implementation:
    """Return the implementation that a target of Python names or is, in this process.

    Raises TargetError if it cannot be found, imported or used, or takes no device.
    """
    python = target.python
    if isinstance(python, Implementation):
        return _loaded_as_it_is(python, target, python.declaration.adapter)
    limit, guessed = sys.getrecursionlimit(), None
    try:
        found, module = locate(python) if isinstance(python, str) else (python, None)
        adapter = python if isinstance(python, str) else str(getattr(python, "__name__", type(python).__name__))
        main: object | None = None
        if not (isinstance(python, str) and python in BUILT_IN):
            main = _main_part(found, adapter, target)
            layer = _layer(found if main is None else main, adapter, target)
            if layer is not None:
                return layer
        holder, single, reported = _kept_in(found, module, main, adapter, target)
        if isinstance(holder, Implementation):
            return _loaded_as_it_is(holder, target, adapter)
        declared = {name: read_attribute(holder, name, adapter) for name in ("tensors", "backward")}
        # Anything else of such a name is something else.
        words = {name: word for name, word in declared.items() if isinstance(word, str)}
        said = (target.tensors, words.get("tensors"))
        kind = target.tensors or words.get("tensors") or (None if single is None else single.likely_tensors)
        if kind is None and "device" not in reported and target.device is not None:
            raise _no_device(target.device, adapter)
        tensors = None if kind is None else tensors_called(kind, target.device, said_by=adapter)
        renames = {argument: own for own, argument in target.renames.items()}
        backward = target.backward or words.get("backward")
        guessed = None if single is None else single.in_words(kind if kind not in said else None)
        made = partial(InProcessImplementation, holder, adapter, renames, tensors, target.layout, backward)
        implementation = made(guessed)
        if single is None or (target.layout or implementation.declaration.layout) is not None:
            return implementation
        from attnspec.targets.layout_probe import layout_needed

        layout = layout_needed(implementation, single.operation)
        if layout is None:
            return implementation
        vars(holder)["layout"] = layout
        return made(f"{guessed}, called in the layout {layout}")
    except TargetError as error:
        raise _with_a_command(error, python if guessed is not None else None) from None
    finally:
        keep_recursion_limit(limit)


def _kept_in(
    found: object, module: ModuleType | None, main: object, adapter: str, target: Target
) -> tuple[object, Single | None, Mapping[str, str]]:
    """Return the holder of operations, the one function in it whose operation was guessed, and what it was made with.

    `main` is the part that a whole file is about, where it has one.
    """
    if target.operation is not None:
        return _holder_of_function(found, adapter, target.operation, module), None, {}
    if isfunction(main) and isinstance(found, ModuleType):
        from attnspec.targets.main_part import sure_function, with_operation

        single = sure_function(main, found, target.renames)
        if single is not None:
            return with_operation(found, single.operation, main), single, {}
    holds_operations = _holds_operations(found, adapter)
    if not holds_operations and not (module and adapter in BUILT_IN):
        from attnspec.targets.single_function import single_function

        single = single_function(found, adapter, module, target.renames)
        if single is not None:
            return _holder_of_function(single.function, adapter, single.operation, single.module), single, {}
    requested = {"device": target.device, "layout": target.layout}
    reported = {name: word for name, word in requested.items() if word is not None and _takes(name, found)}
    holder = _holder(found, adapter, reported, holds_operations=holds_operations)
    if isinstance(found, type) and not _holds_operations(holder, adapter):
        from attnspec.targets.single_function import single_function

        single = single_function(holder, found.__name__, module, target.renames)
        if single is not None:
            return _holder_of_function(holder, adapter, single.operation, module), single, reported
    return holder, None, reported


def _main_part(found: object, adapter: str, target: Target) -> object | None:
    """Return the function or class that a user's whole file is about, where the file is no adapter."""
    if not isinstance(found, ModuleType) or target.operation is not None:
        return None
    if found.__name__.partition(".")[0] in OUR_PACKAGES:
        return None
    from attnspec.targets.main_part import main_part

    return main_part(found, adapter, _DECLARED, target.renames)


def _layer(found: object, adapter: str, target: Target) -> Implementation | None:
    """Return what was found as a layer that holds its weights, or takes them; None where it is none."""
    if not _may_be_a_layer(found, target) or not import_object(IS_LAYER)(found, target.operation):
        return None
    layer = import_object(LAYERS)(found, target.renames)
    if layer is None:
        return None
    return InProcessImplementation(layer, adapter, layout=target.layout, guessed="\n".join(layer.findings))


def _with_a_command(error: TargetError, function: object) -> TargetError:
    """Return the error of a function that was guessed and is called in another way, with the command that helps."""
    if not isinstance(function, str):
        return error
    unfit, _, _ = str(error).partition(". ")
    return TargetError(f"{unfit}. An adapter says what is handed over; this begins one: attnspec init {function}")


def _holds_operations(found: object, adapter: str) -> bool:
    return any(callable(read_attribute(found, name, adapter)) for name in OPERATIONS)


def _may_be_a_layer(found: object, target: Target) -> bool:
    is_said = inspect.isroutine(found) and target.operation is not None
    return not (is_said or isinstance(found, ModuleType))


def _holder(found: object, adapter: str, reported: Mapping[str, str], *, holds_operations: bool) -> object:
    """Return the module or instance that holds the operations; a class or a factory is called once."""
    if isinstance(found, ModuleType) or (holds_operations and not isinstance(found, type)) or not callable(found):
        return found
    return _made(found, adapter, reported)


def _made(found: Callable[..., object], adapter: str, reported: Mapping[str, str]) -> object:
    """Call a class or a factory once."""
    try:
        return found(**reported)
    except (AttnspecError, KeyboardInterrupt):
        raise
    except BaseException as error:
        hint = "" if isinstance(found, type) else " For a single function, say which operation it is: --as OPERATION"
        raise TargetError(
            f"{adapter} could not be made into an adapter: calling it without arguments raised "
            f"{type(error).__name__}: {error}.{hint}"
        ) from None


def _takes(argument: str, factory: object) -> bool:
    """Return whether something is a class or a function, not an operation itself, that has an argument of that name."""
    if not callable(factory) or isinstance(factory, ModuleType):
        return False
    try:
        return argument in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False


def _loaded_as_it_is(implementation: Implementation, target: Target, adapter: str) -> Implementation:
    """Return what is an implementation already, which takes neither a device nor backward passes by its tensors."""
    if target.device is not None:
        raise _no_device(target.device, adapter)
    if target.backward is not None:
        raise TargetError(
            f"--backward {target.backward}: {adapter} is an implementation already, which offers its backward passes "
            "itself. A function that takes tensors of a library that differentiates can have one: --tensors torch."
        )
    return implementation


def _no_device(device: str, adapter: str) -> TargetError:
    return TargetError(
        f"--device {device}: {adapter} takes no device. A class or a function that makes the adapter does, "
        "if it has an argument 'device'; so does one that takes tensors: --tensors torch."
    )


def _holder_of_function(found: object, adapter: str, operation: str, module: ModuleType | None) -> object:
    """Return a holder of one function, which declares what the module declares in which it was found."""
    if operation not in OPERATIONS:
        raise TargetError(f"There is no operation {operation!r}; the operations are {', '.join(OPERATIONS)}.")
    if isinstance(found, type):
        # An instance of it is meant, which is called like a function.
        found = _made(found, adapter, {})
    name, found = getattr(found, "__name__", adapter), computing(found)
    if not callable(found):
        named = "" if module is None and adapter == type(found).__name__ else f"; name it: {adapter}:FUNCTION"
        raise TargetError(f"--as {operation} needs a function, but {adapter} is a {type(found).__name__}{named}")
    declared = {name: read_attribute(module, name, adapter) for name in _DECLARED} if module is not None else {}
    return SimpleNamespace(**{operation: found, "name": name, **declared})


def locate(target: str) -> tuple[object, ModuleType | None]:
    """Return what a target names, and the module of which it is a part; TargetError if not found or imported."""
    if target in BUILT_IN:
        module, _, attribute = BUILT_IN[target].partition(":")
        return _module_attribute(_import(module, target), attribute, target)
    file = FILE.fullmatch(target)
    if file is not None:
        return _module_attribute(_module_from_file(Path(file["path"]), target), file["attribute"] or "", target)
    if target.endswith(".ipynb"):
        raise TargetError(
            f"{target!r} is a notebook. Call attnspec.validate(FUNCTION, operation=OPERATION) in one of its cells, or "
            "save the function to a .py file."
        )
    entry = _entry_point(target)
    if entry is not None:
        return entry, None
    module, _, attribute = target.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise TargetError(
            f"{target!r} names no implementation: give a module (package.module), a file (./mine.py:MyAdapter) "
            f"or a built-in one ({', '.join(BUILT_IN)})."
        )
    working_folder = str(Path.cwd())
    if working_folder not in sys.path:
        sys.path.insert(0, working_folder)
    return _module_attribute(_import(module, target), attribute, target) if attribute else _import_dotted(module)


def _import_dotted(target: str) -> tuple[object, ModuleType | None]:
    """Import ``package.module``, or take the last part as an attribute of the module before it."""
    parent, _, last = target.rpartition(".")
    if parent and _spec_of(target) is None and _spec_of(parent) is not None:
        return _module_attribute(_import(parent, target), last, target)
    return _import(target, target), None


def _spec_of(name: str) -> object:
    try:
        return importlib.util.find_spec(name)
    except Exception:
        return None


def _import(module: str, target: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except (AttnspecError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(error.name + ".")):
            raise TargetError(
                f"There is no module {error.name!r} to import for {target!r}. Is it installed, and is this the "
                f"right folder? The built-in implementations are {', '.join(BUILT_IN)}."
            ) from None
        needs = f"it needs the module {error.name!r}." if error.name else _located(error)
        raise TargetError(f"{target!r} could not be imported: {needs}") from None
    except BaseException as error:
        raise TargetError(f"{target!r} could not be imported: {_located(error)}") from None


class _AsItStands(SourceFileLoader):
    """Source loader that compiles the file at each import, and leaves no bytecode beside it.

    Python takes bytecode for current while the source's second of writing and length stay the same, and would run the
    old code after a quick edit.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _module_from_file(path: Path, target: str) -> ModuleType:
    if not path.is_file():
        raise TargetError(f"There is no file {str(path)!r} (from {target!r}).")
    name = path.stem if path.stem.isidentifier() else "implementation"
    loader = _AsItStands(name, str(path))
    spec = ModuleSpec(name, loader, origin=str(path))
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    previous = sys.modules.get(name)
    sys.modules[name] = module
    loaded = False
    try:
        loader.exec_module(module)
        loaded = True
    except (AttnspecError, KeyboardInterrupt):
        raise
    except BaseException as error:
        hint = ""
        if isinstance(error, ImportError) and "relative import" in str(error):
            hint = ". It belongs to a package: name it as a module, package.module, from the folder above the package."
        raise TargetError(f"{str(path)!r} could not be imported: {_located(error)}{hint}") from None
    finally:
        # A module that stays behind must be whole: the next import of that name would take it without a look.
        if previous is not None:
            sys.modules[name] = previous
        elif not loaded:
            del sys.modules[name]
    return module


def _module_attribute(module: ModuleType, attribute: str, target: str) -> tuple[object, ModuleType | None]:
    """Return an attribute of a module, beside the module; the module alone where none is named."""
    found: Any = module
    for part in filter(None, attribute.split(".")):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise TargetError(f"{target!r}: {module.__name__} has no attribute {attribute!r}.") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise TargetError(f"{target!r}: reading {attribute!r} raised {_located(error)}") from None
    return found, module if attribute else None


def _entry_point(target: str) -> object | None:
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS, name=target):
        try:
            return entry.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise TargetError(f"The installed adapter {target!r} could not be loaded: {_located(error)}") from None
    return None


def _located(error: BaseException) -> str:
    """Return the error's own words, with its position."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        file = f" of {Path(error.filename).name}" if error.filename else ""
        return f"{type(error).__name__} in line {error.lineno}{file}: {error.msg}"
    return f"{type(error).__name__}: {error}{error_position(error)}"
