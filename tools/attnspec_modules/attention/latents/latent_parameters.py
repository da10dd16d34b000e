"""Tensors of latent attention in the parameters of a layer: by shapes, of which no two are alike, and by names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product

from attnspec_modules.attention.latents.latent_weights import SIDE_BY_SIDE, shape_of, tensors_of
from attnspec_modules.attention.latents.latent_widths import Chosen
from attnspec_modules.attention.layer_reading import LatentTies, Placement, is_transposed
from attnspec_modules.attention.names import meaning_of_parameter
from attnspec_modules.attention.placing import fits
from attnspec_modules.libraries import Parameter

_SAID: Mapping[str, tuple[str, ...]] = {
    "query": ("query_down", "content", "rotary"),
    "key": ("latent", "key_rotary", "up_key"),
    "value": ("latent", "up_value"),
    "pair": ("latent", "key_rotary", "up_key", "up_value"),
    "output": ("output",),
}
"""What a parameter's name says, and the tensors that it may then hold."""

_MOST_TRIED = 200


def assignments(
    parameters: Mapping[str, Parameter], ties: LatentTies, chosen: Chosen, heads: int
) -> Iterator[dict[str, Placement]]:
    """Yield the ways in which parameters hold each tensor once, the likeliest first; biases hold none."""
    matrices = {path: each for path, each in parameters.items() if len(each.shape) > 1}
    for has_query_down in (False, True):
        wanted = tensors_of(ties, has_query_down=has_query_down)
        shapes = {
            name: shape_of(name, chosen.widths, chosen.tokens, heads, has_query_down=has_query_down) for name in wanted
        }
        possible: dict[str, list[Placement]] = {}
        for path, each in matrices.items():
            every, said = _placements(each, shapes), _SAID.get(meaning_of_parameter(path) or "", ())
            possible[path] = [one for one in every if {*one.tensors} <= {*said}] or every
        for number, choice in enumerate(product(*possible.values())):
            if number > _MOST_TRIED:
                break
            kept = [name for placement in choice for name in placement.tensors]
            if sorted(kept) == sorted(wanted):
                yield dict(zip(possible, choice, strict=True))


def _placements(parameter: Parameter, shapes: Mapping[str, tuple[int, ...]]) -> list[Placement]:
    """Return what a parameter of a shape may hold, the usual order first."""
    found: list[Placement] = []
    together = [order for usual in SIDE_BY_SIDE if {*usual} <= {*shapes} for order in permutations(usual)]
    for names in (*((name,) for name in shapes), *together):
        for letters, lengths in _axes(names, shapes):
            for axes in map("".join, permutations(letters)):
                is_whole = "h" not in axes or axes.index("h") + 1 == axes.index("e") or len(parameter.shape) > 2
                turned = axes.startswith("d") if names == ("output",) else is_transposed(names, axes)
                is_open = parameter.transposed is None or len(parameter.shape) > 2 or turned == parameter.transposed
                if is_whole and is_open and fits([lengths[letter] for letter in axes], parameter.shape):
                    found.append(Placement(names, axes))
    return found


def _axes(names: tuple[str, ...], shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the axes of tensors that stand side by side: inside each head, and whole."""
    first = shapes[names[0]]
    if names == ("output",):
        yield "hed", dict(zip("hed", first, strict=True))
        return
    if any(shapes[name][0] != first[0] or len(shapes[name]) != len(first) for name in names):
        return
    if len(first) == 3:
        yield "dhe", {"d": first[0], "h": first[1], "e": sum(shapes[name][2] for name in names)}
        if len(names) == 1:
            return
    width = sum(shapes[name][1] * (shapes[name][2] if len(first) == 3 else 1) for name in names)
    yield "de", {"d": first[0], "e": width}
