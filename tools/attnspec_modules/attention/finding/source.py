"""Source of a layer: its code, and what its comments and docstrings say, where its file can be read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnspec_modules.attention.constructing import scope_of
from attnspec_modules.attention.names import meaning_of
from attnspec_modules.libraries.kinds import attributes_of


@dataclass(frozen=True)
class Source:
    """Source of a file in which a layer stands; empty where there is none.

    `tree` is all of it, `own` are the nodes of the class and of the functions of its file that its methods name, `said`
    their comments and docstrings.
    """

    tree: ast.Module
    own: tuple[ast.AST, ...]
    said: tuple[str, ...]

    def cuts_heads_apart(self) -> bool:
        """Return whether its code cuts matrices apart inside each head, ``(heads, 3 * head_dim)``, or it says so."""
        words = any(re.search(r"interleav|head[- ]by[- ]head|(?:per|each|every)[- ]head", said) for said in self.said)
        return words or any(_has_multiple_of_head(node) for root in self.own for node in ast.walk(root))


def source_of(layer_class: type) -> Source:
    """Return the source of a layer's class."""
    nothing = Source(ast.Module([], []), (), ())
    codes = [
        function.__code__
        for function in attributes_of(layer_class).values()
        if hasattr(function, "__code__") and function.__module__ == layer_class.__module__
    ]
    if not codes:
        return nothing
    try:
        text = Path(codes[0].co_filename).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return nothing
    named = {name for code in codes for name in code.co_names}
    own = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and (node.name == layer_class.__name__ or node.name in named)
    ]
    return Source(tree, tuple(own), tuple(_said(text, own)))


def functions_of(layer_class: type, word: str) -> dict[str, Any]:
    """Return the functions of a layer's file whose names have a word."""
    scope = scope_of(layer_class)
    return {
        name: value
        for name, value in scope.items()
        if word in name.lower() and hasattr(value, "__code__") and value.__module__ == layer_class.__module__
    }


def _said(text: str, nodes: list[Any]) -> list[str]:
    """Return comments and docstrings, those on consecutive lines together, of the lines of some nodes."""
    lines = {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    found: list[str] = []
    last = -1
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line = token.start[0]
            if token.type != tokenize.COMMENT or line not in lines:
                continue
            is_whole_line = not token.line[: token.start[1]].strip()
            words = token.string.lstrip("# ")
            if found and is_whole_line and line == last + 1:
                found[-1] += f"\n{words}"
            else:
                found.append(words)
            last = line if is_whole_line else -1
    except (tokenize.TokenError, IndentationError):
        return found
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                said = ast.get_docstring(node)
                found += [said] if said else []
    return found


def _has_multiple_of_head(node: ast.AST) -> bool:
    """Return whether a call has 3 * head_dim, or 2 * head_dim, as one length of a shape."""
    return isinstance(node, ast.Call) and any(
        isinstance(argument, ast.BinOp)
        and isinstance(argument.op, ast.Mult)
        and any(isinstance(side, ast.Constant) and side.value in (2, 3) for side in (argument.left, argument.right))
        and any(
            meaning_of("constructor", getattr(side, "attr", getattr(side, "id", ""))) == "head_width"
            for side in (argument.left, argument.right)
        )
        for argument in node.args
    )
