"""Steps under an operation's name: functions of a file that serve another one, and give back what no operation does.

Somebody's attention may well have a ``softmax`` of its own that returns the logarithms of its sums as well.
"""

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any, cast

from attnspec.contract.operation import Operation
from attnspec.targets.calling import codes_in

Functions = Mapping[str, Callable[..., Any]]


def steps_of_others(
    module: ModuleType, functions: Functions, operations: Mapping[str, Operation], adapter: str
) -> dict[str, str]:
    """Return which operations' `functions` are steps of the others, with the sentence that says so.

    A step is called by a function that stays, at once or through others of its `module`, and each of its ``return``
    gives nothing or more outputs than the operation has: as the operation, it would be refused before its numbers.
    """
    unlike = {name: said for name, each in functions.items() if (said := _unlike(each, operations[name])) is not None}
    found: dict[str, str] = {}
    for caller in functions.keys() - unlike.keys() if unlike else ():
        served = list(_served(module, functions[caller]))
        for name, said in unlike.items():
            if name not in found and any(each is functions[name] for each in served):
                found[name] = (
                    f"{name} {said} and is called by {caller}, so it was taken for a step of it; "
                    f"{adapter}:{name} grades it as the operation."
                )
    return found


def _unlike(function: Callable[..., Any], operation: Operation) -> str | None:
    """Return in words what a function gives back, if it always is another number of outputs than the operation's."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    written = next(iter(tree.body), None)
    if not isinstance(written, ast.FunctionDef) or inspect.isgeneratorfunction(function):
        return None
    numbers = {_outputs(each.value) for each in _returns(written)} or {0}
    if any(number is None or 0 < number <= len(operation.outputs) for number in numbers):
        return None
    most = max(number for number in numbers if number is not None)
    return f"returns {most} outputs" if most else "returns nothing"


def _returns(function: ast.AST) -> Iterator[ast.Return]:
    """Give the ``return`` of a function itself, not of those inside."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from _returns(node)


def _outputs(returned: ast.expr | None) -> int | None:
    """Return how many outputs an expression plainly is; None where only a call would say it."""
    if returned is None or (isinstance(returned, ast.Constant) and returned.value is None):
        return 0
    if isinstance(returned, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in returned.elts):
        return len(returned.elts)
    return len(returned.keys) if isinstance(returned, ast.Dict) and None not in returned.keys else None


def _served(module: ModuleType, function: object) -> Iterator[object]:
    """Give what a function calls by name in its module, and what that calls, however far."""
    waiting, seen = [function], set[int]()
    while waiting:
        code = getattr(inspect.unwrap(cast("Any", waiting.pop())), "__code__", None)
        for name in _globals_read(code) if code is not None else ():
            found = vars(module).get(name)
            if callable(found) and id(found) not in seen:
                seen.add(id(found))
                waiting.append(found)
                yield found


def _globals_read(code: CodeType) -> Iterator[str]:
    """Give the names of globals that code reads, in functions inside it as well; no attributes, such as torch's own."""
    for each in codes_in(code):
        yield from (read.argval for read in dis.get_instructions(each) if read.opname == "LOAD_GLOBAL")
