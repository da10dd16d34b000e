"""Which matrices and biases the parameters of a layer hold: by their names, their shapes and their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from attnspec.base.errors import TargetError
from attnspec_modules.attention.constructing import Sizes
from attnspec_modules.attention.layer_reading import Placement, is_transposed
from attnspec_modules.attention.names import meaning_of_parameter
from attnspec_modules.attention.placing import of_each_head, possible_axes
from attnspec_modules.libraries import Parameter

_ROLES = ("query", "key", "value", "output")
_TENSORS: Mapping[str, tuple[str, ...]] = {
    **{role: (role,) for role in _ROLES},
    "fused": ("query", "key", "value"),
    "pair": ("key", "value"),
}


@dataclass(frozen=True)
class Candidates:
    """Possible placements in a parameter, the likeliest first; `named` says whether its name says which tensors.

    `is_said`: the order of several matrices is that of the user's own word.
    """

    parameter: Parameter
    placements: tuple[Placement, ...]
    named: bool
    is_said: bool = False


def candidates_of(
    parameters: Mapping[str, Parameter], sizes: Sizes, renames: Mapping[str, str], said_by: str
) -> dict[str, Candidates]:
    """Return the possible placements in each parameter of a layer of these sizes.

    `renames` has own names of parameters first. Raises TargetError for a parameter that fits nothing.
    """
    meanings = {
        path: renames.get(path) or _renamed_beginning(path, renames) or meaning_of_parameter(path)
        for path in parameters
    }
    orders = {path: _order_said(meaning) for path, meaning in meanings.items() if meaning and "+" in meaning}
    meanings = {
        path: {3: "fused", 2: "pair"}.get(len(orders[path][0]))
        if path in orders
        else (meaning or "").removeprefix("w_").removeprefix("b_") or None
        for path, meaning in meanings.items()
    }
    for path, meaning in meanings.items():
        if meaning == "norm":
            raise TargetError(
                f"{said_by} normalizes inside ({path}), which multi_head_attention does not. Validate the attention "
                "without it, or write an adapter: attnspec init"
            )
    heads = _in_lists(parameters, sizes)
    meanings = _by_order(parameters, meanings, sizes)
    found: dict[str, Candidates] = {}
    for path, parameter in parameters.items():
        meaning = meanings[path]
        placements = [] if meaning is None else _placements(path, parameter, meaning, sizes, one_head=path in heads)
        if path in orders:
            placements = _as_said(placements, *orders[path])
        if not placements:
            raise TargetError(
                f"{said_by} holds {path} {parameter.shape}, and neither name nor shape says which matrix or bias "
                f"of multi_head_attention it is. Say it: --rename {path}=w_query (or w_key, w_value, w_output)"
            )
        key = of_each_head(path)[0] if path in heads else path
        found[key] = Candidates(parameter, tuple(placements), meaning_of_parameter(path) is not None, path in orders)
    return found


def own_name(path: str) -> str:
    """Return the name of a projection, without that of the matrix inside it."""
    return path.removesuffix(".weight").removesuffix(".kernel")


def order_in_name(path: str) -> tuple[str, ...] | None:
    """Return the order of several matrices that the name of their parameter spells: ``kqv``, ``keys_queries``."""
    for part in reversed(path.lower().split(".")):
        words = re.findall("quer|key|val", part)
        letters = re.search(r"(?:^|_|w|to)([qkv]{2,3})(?:_|$)", part)
        spelt = [word[0] for word in words] if len(words) > 1 else letters[1] if letters else ""
        if len({*spelt}) == len(spelt) > 1:
            return tuple({"q": "query", "k": "key", "v": "value"}[letter] for letter in spelt)
    return None


def is_by_head(placement: Placement) -> bool:
    """Return whether each head has its part of every matrix, one head beside the other."""
    axes = placement.axes
    return "r" in axes and "h" in axes and axes.index("h") < axes.index("r")


def _order_said(meaning: str) -> tuple[tuple[str, ...], bool]:
    """Return the order of the matrices that somebody said, and whether heads come before them."""
    names = meaning.split("+")
    return tuple(name[2:] for name in names if name.startswith(("w_", "b_"))), "num_heads" in names


def _as_said(placements: list[Placement], order: tuple[str, ...], by_head: bool) -> list[Placement]:
    return [
        each
        for each in placements
        if tuple(name[2:] for name in each.tensors) == order and (is_by_head(each) == by_head or "h" not in each.axes)
    ]


def _renamed_beginning(path: str, renames: Mapping[str, str]) -> str | None:
    """Return what the part of a layer is said to be to which a parameter belongs."""
    return next((meaning for own, meaning in renames.items() if path.startswith(f"{own}.")), None)


def _in_lists(parameters: Mapping[str, Parameter], sizes: Sizes) -> frozenset[str]:
    """Return the parameters that are one of as many as there are heads, and have a head's width."""
    groups: dict[str, list[str]] = {}
    for path, parameter in parameters.items():
        if "#" in of_each_head(path)[0] and sizes.width // sizes.heads in parameter.shape:
            groups.setdefault(of_each_head(path)[0], []).append(path)
    return frozenset(path for group in groups.values() if len(group) == sizes.heads > 1 for path in group)


def _by_order(
    parameters: Mapping[str, Parameter], meanings: Mapping[str, str | None], sizes: Sizes
) -> dict[str, str | None]:
    """Give parameters whose names say nothing what is missing, by their order: query, key, value, output."""
    found = dict(meanings)
    is_matrix = {path: sizes.width**2 <= _size(parameter) for path, parameter in parameters.items()}
    taken = {
        tensor for path, meaning in found.items() if meaning and is_matrix[path] for tensor in _TENSORS.get(meaning, ())
    }
    missing = [role for role in _ROLES if role not in taken]
    open_ = [path for path, meaning in found.items() if meaning is None and is_matrix[path]]
    if "query" in missing and {"key", "value"} <= {*missing} and len(open_) <= 2 and open_:
        # One matrix for all three, and one for the output.
        if _size(parameters[open_[0]]) == 3 * sizes.width**2:
            found[open_[0]] = "fused"
            missing, open_ = missing[3:], open_[1:]
    elif {"key", "value"} <= {*missing} and open_ and _size(parameters[open_[0]]) == 2 * sizes.width**2:
        found[open_[0]] = "pair"
        missing, open_ = [role for role in missing if role not in ("key", "value")], open_[1:]
    for path, role in zip(open_, missing, strict=False):
        found[path] = role
    # A bias belongs to the matrix beside it.
    for path, meaning in found.items():
        if meaning is None:
            beside = [other for other in found if other.rpartition(".")[0] == path.rpartition(".")[0] and found[other]]
            if beside and "." in path:
                found[path] = found[beside[0]]
    return found


def _size(parameter: Parameter) -> int:
    size = 1
    for length in parameter.shape:
        size *= length
    return size


def _placements(path: str, parameter: Parameter, meaning: str, sizes: Sizes, *, one_head: bool) -> list[Placement]:
    roles = _TENSORS.get(meaning)
    if roles is None:
        return []
    width = sizes.width // sizes.heads
    lengths = {"d": sizes.width, "h": sizes.heads, "e": width}
    features = width if one_head else sizes.width
    size = _size(parameter)
    if size == len(roles) * features * sizes.width:
        letter = "w"
    elif size == len(roles) * features or (size == sizes.width and roles == ("output",)):
        letter = "b"
    else:
        return []
    found: list[Placement] = []
    named = order_in_name(path)
    first = named if named is not None and {*named} == {*roles} else roles
    # Of all orders, so that one that somebody says is among them; probes know value from key by what they do.
    orders = [first, *(order for order in permutations(roles) if order != first)] if len(roles) > 1 else [roles]
    for order in orders:
        tensors = tuple(f"{letter}_{role}" for role in order)
        for axes in possible_axes(tensors, parameter.shape, lengths, one_head=one_head):
            is_open = parameter.transposed is None or letter == "b" or len(parameter.shape) > 2
            if is_open or is_transposed(tensors, axes) == parameter.transposed:
                found.append(Placement(tensors, axes))
    return found


def applied_alike(
    tried: dict[str, Placement], candidates: Mapping[str, Candidates], seen: Sequence[str]
) -> dict[str, Placement]:
    """Return placements in which matrices of one owner are all applied transposed, or all as they stand."""
    turned = {
        candidates[path].parameter.owner: is_transposed(tried[path].tensors, tried[path].axes)
        for path in reversed(seen)
        if "d" in tried[path].axes and len(tried[path].tensors) == 1
    }
    found = dict(tried)
    for path, each in candidates.items():
        wanted = turned.get(each.parameter.owner)
        if path not in seen and wanted is not None:
            fitting = [one for one in each.placements if is_transposed(one.tensors, one.axes) == wanted]
            found[path] = fitting[0] if fitting and "d" in found[path].axes else found[path]
    return found


def with_their_biases(placements: dict[str, Placement], candidates: Mapping[str, Candidates]) -> dict[str, Placement]:
    """Return placements in which biases have the order of the matrices to which they belong."""
    orders = {
        frozenset(each.tensors): each for each in placements.values() if "d" in each.axes and len(each.tensors) > 1
    }
    found = dict(placements)
    for path, each in placements.items():
        matrix = orders.get(frozenset(name.replace("b_", "w_", 1) for name in each.tensors))
        if matrix is not None and each.tensors[0].startswith("b_"):
            tensors = tuple(name.replace("w_", "b_", 1) for name in matrix.tensors)
            wanted = Placement(tensors, matrix.axes.replace("d", ""))
            found[path] = wanted if wanted in candidates[path].placements else each
    return found
