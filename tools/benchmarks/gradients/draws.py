"""Drawn inputs of a backward pass of attention: numbers of several classes, in random shapes, with random features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.contract.dtypes import rounded_to
from attnspec.families.attention.steps.attendance import attendance

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LONG = 2048


class Draw(NamedTuple):
    """Inputs and attributes of one call.

    `inputs`: tensors by name, of numbers that the dtype of the run holds; `attributes`: attributes by name.
    """

    inputs: dict[str, NDArray[Any]]
    attributes: dict[str, Any]

    @property
    def factor(self) -> float:
        """The scale."""
        scale = self.attributes.get("scale")
        return 1 / math.sqrt(self.inputs["query"].shape[-1]) if scale is None else scale

    @property
    def shared(self) -> int:
        """How many query heads share a key head."""
        return self.inputs["query"].shape[1] // self.inputs["key"].shape[1]

    @property
    def attendable(self) -> NDArray[np.bool_]:
        """Which key each query may attend (B, Hq, Sq, K)."""
        shape = (*self.inputs["query"].shape[:3], self.inputs["key"].shape[2])
        return attendance(shape, 0, self.inputs, is_causal=self.attributes.get("is_causal", False)).attendable


def _grid(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return sums of four numbers of 6 bits, as the golden cases hold: exact in every dtype."""
    return (generator.integers(0, 64, (4, *shape)).sum(axis=0) - 126) / 32.0


def _gaussian(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    return generator.standard_normal(shape)


def _few(generator: np.random.Generator, tensor: NDArray[Any], *, opposite: bool = False) -> NDArray[Any]:
    """Return a tensor of which every token is one of two: as they come, or one the opposite of the other."""
    one, other = tensor[:, :, :1], -tensor[:, :, :1] if opposite else tensor[:, :, -1:]
    first = generator.integers(0, 2, (1, 1, tensor.shape[2], 1)) == 0
    return np.where(first, one, other)


def plain(inputs: dict[str, Any], _: np.random.Generator) -> None:
    """Leave the numbers as they are."""


def peaked(inputs: dict[str, Any], _: np.random.Generator) -> None:
    """Let few keys outweigh the others."""
    inputs["query"] = 8 * inputs["query"]


def tied(inputs: dict[str, Any], generator: np.random.Generator) -> None:
    """Let every token be one of two."""
    for name in ("query", "key", "value", "grad_output"):
        if generator.integers(0, 4):
            inputs[name] = _few(generator, inputs[name])


def cancelling(inputs: dict[str, Any], generator: np.random.Generator) -> None:
    """Let tied tokens weigh values, gradients, keys and queries that cancel."""
    inputs["key"], inputs["query"] = _few(generator, inputs["key"]), _few(generator, inputs["query"])
    for name in ("value", "grad_output"):
        inputs[name] = _few(generator, inputs[name], opposite=bool(generator.integers(0, 2)))


def equal(inputs: dict[str, Any], generator: np.random.Generator) -> None:
    """Let all tokens of some tensors be the same."""
    for name in ("query", "key", "value", "grad_output"):
        if generator.integers(0, 2):
            inputs[name] = np.broadcast_to(inputs[name][:, :, :1], inputs[name].shape).copy()


def large(inputs: dict[str, Any], _: np.random.Generator) -> None:
    """Let logits come to hundreds, values and gradients to thousands."""
    inputs["query"], inputs["key"] = 16 * inputs["query"], 16 * inputs["key"]
    inputs["value"], inputs["grad_output"] = 64 * inputs["value"], 16 * inputs["grad_output"]


def tiny(inputs: dict[str, Any], _: np.random.Generator) -> None:
    """Let values and gradients lie near the lower end of half precision."""
    inputs["value"], inputs["grad_output"] = inputs["value"] * 2.0**-10, inputs["grad_output"] * 2.0**-9


def with_an_offset(inputs: dict[str, Any], _: np.random.Generator) -> None:
    """Let values be nearly the same, so that products cancel their mean."""
    inputs["value"] = inputs["value"] + 32.0


CLASSES: dict[str, Callable[[dict[str, Any], np.random.Generator], None]] = {
    "grid": plain,
    "Gaussian": plain,
    "peaked": peaked,
    "tied": tied,
    "cancelling": cancelling,
    "equal tokens": equal,
    "large": large,
    "tiny": tiny,
    "offset": with_an_offset,
    "many keys": plain,
    "many queries": plain,
    "many keys, tied": tied,
    "many queries, tied": tied,
}
"""Classes of numbers and shapes, and what each does to numbers that were drawn."""


def draw(name: str, seed: int, dtype: str, *, plainly: bool = False) -> Draw:
    """Return the inputs of one call.

    `name`: one of `CLASSES`; `seed`: which draw of the class; `dtype`: the dtype that holds the numbers; `plainly`:
    whether to leave out softcap, sinks, float masks, the gradient of the logsumexp, and values of another width.
    """
    generator = np.random.default_rng([list(CLASSES).index(name), seed])
    numbers = _grid if name == "grid" else _gaussian
    batch, key_heads, shared, queries, keys, width, value_width = (
        int(generator.integers(1, most + 1)) for most in (2, 2, 3, 40, 48, 16, 16)
    )
    if name.startswith("many"):
        batch, key_heads, shared, width, value_width = 1, 1, 1, min(width, 6), min(value_width, 6)
        few, many = int(generator.integers(1, 4)), int(generator.integers(LONG // 8, LONG + 1))
        queries, keys = (few, many) if "keys" in name else (many, few)
    if plainly:
        value_width = width
    heads = key_heads * shared
    shapes = {
        "query": (batch, heads, queries, width),
        "key": (batch, key_heads, keys, width),
        "value": (batch, key_heads, keys, value_width),
        "grad_output": (batch, heads, queries, value_width),
    }
    inputs = {tensor: numbers(generator, shape) for tensor, shape in shapes.items()}
    CLASSES[name](inputs, generator)
    attributes: dict[str, Any] = {}
    features = generator.random(8) < 0.3
    if features[0]:
        attributes["scale"] = float(generator.choice([0.3, -0.5, 1.0]))
    if features[1]:
        attributes["is_causal"] = True
    if features[2]:
        mask = generator.random((queries, keys)) < 0.7
        mask[:, 0] = True
        inputs["mask"] = mask
    if not plainly:
        if features[3]:
            attributes["softcap"] = float(generator.choice([1.0, 4.0, 30.0]))
        if features[4]:
            inputs["sinks"] = numbers(generator, (heads,))
        if features[5]:
            inputs["grad_logsumexp"] = numbers(generator, (batch, heads, queries))
        if features[6]:
            shape = [(queries, keys), (batch, 1, 1, keys), (1, heads, queries, keys)][generator.integers(0, 3)]
            mask = np.where(generator.random(shape) < 0.2, -np.inf, numbers(generator, shape))
            mask[..., 0] = 0.0
            inputs["mask"] = mask
    return Draw({tensor: rounded_to(array, dtype) for tensor, array in inputs.items()}, attributes)
