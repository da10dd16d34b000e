"""What was found of a layer, in plain lines."""

from __future__ import annotations

from typing import Any

from attnspec_modules.attention.layer_reading import MaskForm, Placement, Reading
from attnspec_modules.libraries.kinds import is_dict

_MEANINGS = {"attend": "1 may be attended", "hide": "1 hides", "add": "it is added"}
_AXES = {"b": "B", "h": "H", "q": "Sq", "k": "Sk", "1": "1", "n": "B·H"}


def findings(reading: Reading) -> tuple[str, ...]:
    """Return sentences on constructor, projections, call, masks and causality."""
    return tuple(
        sentence
        for sentence in (
            _of_constructor(reading),
            _of_projections(reading),
            _of_call(reading),
            *(_of_mask(form) for form in reading.masks),
            {
                "built in": "causality is built in",
                "unless masked": "causality is built in where no mask is given; a mask has to say it",
                "argument": f"causality: {reading.forward.causal}",
                "constructor": "causality: an argument of the constructor",
                "mask": "causality: as a mask",
                "none": "causality: none",
            }[reading.causality],
            _of_rotation(reading),
            "its tokens are added to what it attends to; they are subtracted, as it has no residual"
            if reading.residual
            else "",
            *reading.left_out,
        )
        if sentence
    )


def _of_constructor(reading: Reading) -> str:
    said = [f"{name}={_value(value)}" for name, value in reading.constructor.items()]
    return f"made with {', '.join(said)}" if said else ""


def _value(value: Any) -> str:
    if is_dict(value):
        entries = [f"{name}={_value(each)}" for name, each in value.items() if name]
        return f"({', '.join(entries)})" if entries else "(by name)"
    return str(value).replace("_", " ") if isinstance(value, str) else repr(value)


def _of_projections(reading: Reading) -> str:
    said = [f"{path} is {_placed(each)}" for path, each in reading.parameters.items()]
    outside = "; it has no output projection, which is done outside"
    if reading.latents is not None:
        outside = ""
    elif "w_output" in reading.tensors:
        outside = "" if "b_output" in reading.tensors else "; its output has no bias, which is added outside"
    if reading.runs_head_by_head:
        outside += "; several heads are called one after another"
    return f"projections: {'; '.join(said)}{outside}"


def _placed(placement: Placement) -> str:
    names = ", ".join(placement.tensors)
    is_output = placement.tensors in (("w_output",), ("output",))
    turned = placement.axes.startswith("d") if is_output else placement.axes.endswith("d")
    together = placement.axes.replace("d", "")
    order = ""
    if len(placement.tensors) > 1:
        # Of latents, no axis counts the tensors: they stand side by side in each head, where there are heads.
        by_head = "h" in together and ("r" not in together or together.find("h") < together.find("r"))
        order = ", head by head" if by_head else ", side by side"
    return f"{names}{order}{', transposed' if turned and 'e' in placement.axes else ''}"


def _of_call(reading: Reading) -> str:
    tokens = ", ".join(f"{name} is {role}" if name != role else name for name, role in reading.forward.tokens.items())
    if reading.forward.listed:
        (name,) = reading.forward.tokens
        tokens = f"{name}, a list of {', '.join(reading.forward.listed)}"
    shape = {
        2: "(S, D)" if reading.forward.batch_first else "(D, S)",
        3: "(B, S, D)" if reading.forward.batch_first else "(S, B, D)",
    }[reading.forward.rank]
    weights = "" if reading.forward.weights is None else "; weights come back, too"
    return f"called with {tokens}, as {shape}{weights}"


def _of_rotation(reading: Reading) -> str:
    if not reading.rotates:
        return ""
    has_them = "multi_head_attention has none" if reading.latents is None else "these begin with rotated tensors"
    left_out = f"positions inside it are left out of the cases, since {has_them}"
    if reading.rotation is None:
        return left_out
    pairing, theta, share = reading.rotation.pairing, reading.rotation.theta, reading.rotation.share
    of = "" if share == 1 else f", {share:g} of the features of a head"
    return f"rotates queries and keys: {pairing} pairing, base {theta:g}{of}; {left_out}"


def _of_mask(form: MaskForm) -> str:
    if form.meaning == "lengths":
        return f"lengths {form.name} (B): so many keys may be attended, the first ones"
    shape = ", ".join(_AXES[letter] for letter in form.axes)
    adds = ", numbers are added" if form.adds else ""
    return f"mask {form.name} ({shape}): {_MEANINGS[form.meaning]}{adds}"
