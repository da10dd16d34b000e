"""Order of several matrices in one parameter: the usual one is believed, unless its name or its code says another.

Any order makes a layer that attends as it should, if only it is filled so. But a layer is filled with weights in the
usual order by whoever loads or stores them, so that another one, where nothing says it, is more likely a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from attnspec.contract.implementation import DOUBTED
from attnspec_modules.attention.finding.parameters import Candidates, is_by_head, order_in_name, own_name
from attnspec_modules.attention.finding.source import Source
from attnspec_modules.attention.layer_reading import Placement


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
