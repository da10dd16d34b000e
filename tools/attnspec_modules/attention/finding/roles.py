"""Which matrix plays which part: names are believed, and what is seen from outside says how a layer departs from them.

Any order of several matrices in one parameter makes a layer that attends as it should, if only it is filled so. But it
is filled in the usual order by whoever loads or stores weights, so that another one, where nothing says it, is more
likely a mistake. So is a matrix that is never used, or makes the values in place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.implementation import DOUBTED
from attnspec_modules.attention.finding.parameters import Candidates, is_by_head, order_in_name, own_name
from attnspec_modules.attention.finding.probes import first_is_query, is_proportional, output_of, token_alone
from attnspec_modules.attention.finding.source import Source
from attnspec_modules.attention.layer import LayerRunner
from attnspec_modules.attention.layer_reading import BIASES, MATRICES, Placement

_SEED = 20_260_102
_ALIKE = 1e-5
"""Change of an output, as a share of it, that is a rounding in float32."""

_TOKENS = 5


def believed(
    found: Mapping[str, Placement], candidates: Mapping[str, Candidates], source: Source, said_by: str
) -> tuple[dict[str, Placement], tuple[str, ...]]:
    """Return placements in the usual order, and sentences on those that probes found in another."""
    placements, said = dict(found), list[str]()
    for path, each in found.items():
        if "r" not in each.axes or candidates[path].is_said:
            continue
        usual = candidates[path].placements[0].tensors
        wanted = each if each.tensors == usual else replace(each, tensors=usual)
        if is_by_head(each) and not _may_be_by_head(path, source):
            beside = [one for one in candidates[path].placements if one.tensors == usual and not is_by_head(one)]
            wanted = beside[0] if beside else wanted
        if wanted == each:
            continue
        placements[path] = wanted
        if "d" in each.axes:
            said.append(_sentence(path, each, wanted, said_by))
    return placements, tuple(said)


def _may_be_by_head(path: str, source: Source) -> bool:
    """Return whether each head may have its part of every matrix: a ``query_key_value`` has, or the code says it."""
    return (order_in_name(path) is not None and "query" in path.lower()) or source.cuts_heads_apart()


def _sentence(path: str, found: Placement, usual: Placement, said_by: str) -> str:
    own = own_name(path)
    said = "+".join((*(("num_heads",) if is_by_head(found) else ()), *found.tensors))
    return (
        f"{DOUBTED}{said_by} reads {own} as {_in_words(found)}; the usual order is {_in_words(usual)}, which is "
        f"believed. If it is meant so, say: --rename {own}={said}"
    )


def _in_words(placement: Placement) -> str:
    names = ", ".join(name[2:] for name in placement.tensors)
    return f"{names} head by head" if is_by_head(placement) else names


def doubts_about_roles(runner: LayerRunner, heads: int, width: int, said_by: str) -> tuple[str, ...]:
    """Return sentences on matrices and biases that are not used, or in another part than that of their names."""
    return tuple(f"{DOUBTED}{sentence}" for sentence in _doubts(runner, heads, width, said_by))


def _doubts(runner: LayerRunner, heads: int, width: int, said_by: str) -> Iterator[str]:
    parameters = runner.reading.parameters
    unused = _unused(runner, heads, width)
    of_values = _value_made_by(runner, heads, width)
    if of_values not in (None, "w_value"):
        yield (
            f"the values of {said_by} are made by {_own(parameters, of_values or '')}, the projection of the "
            f"{(of_values or '')[2:]}, and not by {_own(parameters, 'w_value')}"
        )
        unused = [name for name in unused if name not in ("w_value", "b_value")]
    elif first_is_query(runner, "float32") is False:
        yield (
            f"query and key were exchanged in {said_by}: the projections, or the scores, which are transposed "
            f"then, so that a query has the weights of its key{_declared(parameters)}"
        )
        unused = [name for name in unused if name != "b_query"]
    if "w_query" not in unused:
        # A softmax over the queries takes no notice of a bias that they share; that one is missing is seen by cases.
        unused = [name for name in unused if name != "b_query"]
    if unused:
        names = ", ".join(f"{_own(parameters, name)} ({name})" for name in unused)
        others = "another one gives" if len(unused) == 1 else "others give"
        yield f"{said_by} never uses {names}: {others} the same output"


def _declared(parameters: Mapping[str, Placement]) -> str:
    """Return what declares another order, where one parameter holds query and key."""
    other = {"w_query": "w_key", "w_key": "w_query"}
    for path, placement in parameters.items():
        if {*other} <= {*placement.tensors}:
            own, order = own_name(path), "+".join(other.get(name, name) for name in placement.tensors)
            return f". If {own} holds them in that order, say: --rename {own}={order}"
    return ""


def _own(parameters: Mapping[str, Placement], tensor: str) -> str:
    """Return the own name of the parameter that holds a matrix or bias, and its position where it is one of many."""
    for path, placement in parameters.items():
        if tensor in placement.tensors:
            parts = len(placement.tensors)
            return path if parts == 1 else f"part {placement.tensors.index(tensor) + 1} of {parts} of {path}"
    return tensor


def _value_made_by(runner: LayerRunner, heads: int, width: int) -> str | None:
    """Return the matrix by which a token alone becomes what it does; None where it is none, or several would do."""
    fitting = [
        name for name in MATRICES[:3] if is_proportional(token_alone(runner, heads, width, "float32", made_by=name))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _unused(runner: LayerRunner, heads: int, width: int) -> list[str]:
    """Return the matrices and biases without which the output is the same."""
    rng = np.random.default_rng(_SEED)
    tokens = rng.normal(size=(1, _TOKENS, width))
    weights: dict[str, NDArray[np.float64]] = {name: rng.normal(size=(width, width)) / 2 for name in MATRICES}
    weights |= {name: rng.normal(size=width) for name in BIASES}
    before = output_of(runner, tokens, weights, heads, "float32", {})
    if before is None or not np.isfinite(before).all():
        return []
    size, unused = float(np.abs(before).max()), list[str]()
    # One more bias of the keys adds the same to all scores of a query, and changes nothing in any layer.
    for name in sorted(runner.reading.tensors - {"b_key"}, key=(*MATRICES, *BIASES).index):
        after = output_of(runner, tokens, {**weights, name: weights[name][::-1]}, heads, "float32", {})
        if after is not None and np.abs(after - before).max() <= _ALIKE * size:
            unused.append(name)
    return unused
