"""A layer of latent attention as a holder of the operation, with what was found in plain lines."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec_modules.attention.checking import latents_checked
from attnspec_modules.attention.constructing import UndecidedError, constructor_of, has_word
from attnspec_modules.attention.finding import find_reading
from attnspec_modules.attention.found_in_words import findings
from attnspec_modules.attention.latents.latent_finder import LatentFinder
from attnspec_modules.attention.latents.latent_runner import LatentRunner
from attnspec_modules.attention.latents.latent_weights import of_case
from attnspec_modules.attention.layer import Call
from attnspec_modules.libraries import library_called, library_of

Shape = tuple[int, ...]

_TENSORS = ("query_content", "query_rotary", "latent", "key_rotary", "w_key", "w_value")


def is_latent(found: object) -> bool:
    """Return whether a class or an instance is made with the width of latents."""
    layer_class = found if isinstance(found, type) else type(found)
    try:
        constructor = constructor_of(layer_class, None if found is layer_class else found, is_latent=True)
    except UndecidedError:
        return False
    return has_word(layer_class, constructor, "latent")


def latent_holder_of(found: object, renames: Mapping[str, str]) -> SimpleNamespace:
    """Return a holder of `latent_attention` for a layer, with its dtypes, conventions, checks, and `findings`.

    Raises TargetError where its matrices are not those of latent attention.
    """
    layer_class = found if isinstance(found, type) else type(found)
    library = library_of(found)
    assert library is not None
    reading, unclear = find_reading(
        LatentFinder(layer_class, None if found is layer_class else found, library, renames)
    )
    runner = LatentRunner(layer_class, library_called(library), reading)
    by_itself = latents_checked(runner)
    name = layer_class.__name__
    return SimpleNamespace(
        latent_attention=_latent_attention(runner),
        name=name,
        dtypes=reading.dtypes,
        conventions=dict(reading.conventions),
        without=reading.without,
        layer_checks=by_itself.checks,
        findings=(f"{name} is latent_attention, read so:", *findings(reading), *unclear, *by_itself.findings),
    )


def written_latent_layer(found: object, imports: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the text of an adapter for a layer, and in words what was found of it; `imports` come before its own."""
    layer_class = found if isinstance(found, type) else type(found)
    holder, name, module = latent_holder_of(found, {}), layer_class.__name__, layer_class.__module__
    lines = [
        f'"""{module}.{name} as latent_attention, begun by `attnspec init`.',
        "",
        *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in holder.findings[1:]),
        '"""',
        "",
        *imports,
        f"from {module} import {name}",
        "",
        "from attnspec_modules.attention.latents.latent_holder import latent_holder_of",
        "",
        f"layer = latent_holder_of({name}, {{}})",
        "latent_attention = layer.latent_attention",
        "layer_checks = layer.layer_checks",
        *(f"{each} = {getattr(holder, each)!r}" for each in ("dtypes", "conventions", "without")),
        "",
    ]
    return "\n".join(lines), holder.findings


def _latent_attention(runner: LatentRunner) -> Any:
    reading = runner.reading

    def latent_attention(**given: Any) -> NDArray[Any]:
        return _attended(runner, given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keyword) for name in _TENSORS]
    if reading.masks:
        parameters.append(inspect.Parameter("mask", keyword, default=None))
    if reading.causality != "none":
        parameters.append(inspect.Parameter("is_causal", keyword, default=False))
        parameters.append(inspect.Parameter("causal_alignment", keyword, default="top_left"))
    latent_attention.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return latent_attention


def _attended(runner: LatentRunner, given: Mapping[str, Any]) -> NDArray[Any]:
    """Return the output (B, H, Sq, Ev) of tokens in which queries, latents and rotated keys stand side by side."""
    content, rotary, latent, key_rotary, w_key, w_value = (given[name] for name in _TENSORS)
    _check(content.shape, rotary.shape, latent.shape, key_rotary.shape, w_key.shape, w_value.shape)
    is_causal, queries, keys = bool(given.get("is_causal")), content.shape[2], latent.shape[1]
    if runner.reading.causality == "built in" and not is_causal:
        raise Unsupported("causality is built into it")
    if queries > keys:
        raise Unsupported("it takes one sequence, and there are more queries than latents")
    if not all(np.isfinite(given[name].astype(np.float64)).all() for name in _TENSORS):
        raise Unsupported(
            "its projections mix the features of a token, and NaN or infinity would spread to all of them"
        )
    first = keys - queries if is_causal and given.get("causal_alignment") == "bottom_right" else 0
    before_and_after = ((0, 0), (0, 0), (first, keys - queries - first), (0, 0))
    content, rotary = np.pad(content, before_and_after), np.pad(rotary, before_and_after)
    mask = given.get("mask")
    if mask is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        if mask.shape[2] not in (1, keys):
            mask = np.pad(mask, before_and_after, constant_values=mask.dtype.type(mask.dtype == np.bool_))
    tokens, tensors = of_case(content, rotary, latent, key_rotary, w_key, w_value, runner.ties)
    output, _ = runner.run(Call(tokens, tokens, tokens, mask, is_causal), tensors, content.shape[1])
    heads, features = tensors["output"].shape[:2]
    values = output[:, first : first + queries, : heads * features]
    return values.reshape(*values.shape[:2], heads, features).transpose(0, 2, 1, 3)


def _check(content: Shape, rotary: Shape, latent: Shape, key_rotary: Shape, w_key: Shape, w_value: Shape) -> None:
    """Refuse shapes that stand for no latent attention, of which a layer sees nothing."""
    if (len(content), len(rotary), len(latent), len(key_rotary), len(w_key), len(w_value)) != (4, 4, 3, 3, 3, 3):
        raise ValueError("queries have four axes, latents, rotated keys and matrices three")
    batch, heads, _, features = content
    fits = (
        content[:3] == rotary[:3],
        latent[:2] == key_rotary[:2],
        latent[0] == batch,
        rotary[3] == key_rotary[2],
        w_key == (heads, latent[2], features),
        w_value[:2] == (heads, latent[2]),
    )
    if not all(fits):
        raise ValueError("queries, latents, rotated keys and matrices do not fit together")
