"""Rules of mutation: wrong replacements of one node of a source.

Each rule takes a node of the syntax tree and yields its replacements. A rule knows nothing about
attention, so that nobody chooses which mistakes are tried.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
NEIGHBOURS = {"max": "min", "min": "max", "any": "all", "all": "any", "exp": "exp2", "log": "log2", "ones": "zeros"}
"""Functions and methods that are taken for one another."""
NUMBERS = {"inf": ("1e9", "1e4"), "nan": ("0.0",)}
"""Constants of NumPy, and what stands in for them where somebody avoids them."""


def replacements(node: ast.AST) -> Iterator[ast.expr]:
    """Yield replacements of an expression."""
    for rule in RULES.get(type(node), ()):
        yield from rule(node)


def compare(node: ast.Compare) -> Iterator[ast.expr]:
    """Take one comparison for another."""
    for position, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            changed = deepcopy(node)
            changed.ops[position] = other()
            yield changed


def calculate(node: ast.BinOp) -> Iterator[ast.expr]:
    """Take one operator for another, or leave one of the operands out."""
    for other in OPERATORS[type(node.op)]:
        yield ast.BinOp(node.left, other(), node.right)
    yield node.left
    yield node.right


def connect(node: ast.BoolOp) -> Iterator[ast.expr]:
    """Take `and` for `or`, or leave one of the conditions out."""
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for position in range(len(node.values)):
        rest = node.values[:position] + node.values[position + 1 :]
        yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]


def negate(node: ast.UnaryOp) -> Iterator[ast.expr]:
    """Leave a sign or a negation out; shift a negative number by one."""
    yield node.operand
    number = node.operand.value if isinstance(node.operand, ast.Constant) else None
    if isinstance(node.op, ast.USub) and isinstance(number, int | float):
        yield from (ast.Constant(step - number) for step in (1, -1))


def vary(node: ast.Constant) -> Iterator[ast.expr]:
    """Take another truth value, a number one off, or 0 for None."""
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield from (ast.Constant(node.value + step) for step in (1, -1))
    elif node.value is None:
        yield ast.Constant(0)


def choose(node: ast.IfExp) -> Iterator[ast.expr]:
    """Turn the condition round, or take one of the two always."""
    yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    yield node.body
    yield node.orelse


def call(node: ast.Call) -> Iterator[ast.expr]:
    """Exchange neighbouring arguments, forget a named one, or leave the whole call out."""
    for position in range(len(node.args) - 1):
        changed = deepcopy(node)
        changed.args[position], changed.args[position + 1] = changed.args[position + 1], changed.args[position]
        yield changed
    for position in range(len(node.keywords)):
        changed = deepcopy(node)
        del changed.keywords[position]
        yield changed
    yield from (argument for argument in node.args if not isinstance(argument, ast.Starred))
    if isinstance(node.func, ast.Attribute) and not is_name(node.func.value, "np", "math"):
        yield node.func.value


def cut(node: ast.Subscript) -> Iterator[ast.expr]:
    """Forget one end of a slice, or the whole selection."""
    yield node.value
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for position, part in enumerate(parts):
        for end in ("lower", "upper", "step"):
            if isinstance(part, ast.Slice) and getattr(part, end) is not None:
                changed = deepcopy(node)
                copies = changed.slice.elts if isinstance(changed.slice, ast.Tuple) else [changed.slice]
                setattr(copies[position], end, None)
                yield changed


def rename(node: ast.Attribute) -> Iterator[ast.expr]:
    """Take a function for its neighbour, or a number for infinity and NaN."""
    if node.attr in NEIGHBOURS:
        yield ast.Attribute(node.value, NEIGHBOURS[node.attr], ast.Load())
    if is_name(node.value, "np") and node.attr in NUMBERS:
        yield from (ast.Constant(float(number)) for number in NUMBERS[node.attr])


def exchange(node: ast.List) -> Iterator[ast.expr]:
    """Exchange neighbours in a list."""
    for position in range(len(node.elts) - 1):
        changed = deepcopy(node)
        changed.elts[position], changed.elts[position + 1] = changed.elts[position + 1], changed.elts[position]
        yield changed


def is_name(node: ast.AST, *names: str) -> bool:
    """Return whether a node is one of these names."""
    return isinstance(node, ast.Name) and node.id in names


RULES: dict[type[ast.AST], tuple[Callable[..., Iterator[ast.expr]], ...]] = {
    ast.Compare: (compare,),
    ast.BinOp: (calculate,),
    ast.BoolOp: (connect,),
    ast.UnaryOp: (negate,),
    ast.Constant: (vary,),
    ast.IfExp: (choose,),
    ast.Call: (call,),
    ast.Subscript: (cut,),
    ast.Attribute: (rename,),
    ast.List: (exchange,),
}
