"""How a layer is read as multi-head attention: made, filled, called and masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MATRICES = ("w_query", "w_key", "w_value", "w_output")
BIASES = ("b_query", "b_key", "b_value", "b_output")

WORDS = (
    "width",
    "context",
    "inner",
    "heads",
    "kv_heads",
    "head_width",
    "value_width",
    "length",
    "batch",
    "causal",
    "theta",
    "rngs",
    "latent",
    "query_latent",
    "content",
    "rotary",
    "joined",
)
"""What stands for a number of the case among the arguments of a constructor."""

LATENT_WORDS = ("latent", "query_latent", "content", "rotary", "joined")
"""Those of them that layers of latent attention alone are made with."""


def are_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays of tokens hold the same."""
    return one is other or (one.shape == other.shape and np.array_equal(one, other, equal_nan=True))


@dataclass(frozen=True)
class Placement:
    """Tensors of the contract in one parameter of a layer.

    The letters of `axes` are those of the parameter: r the tensors, d features of tokens, h heads, e features of a
    head. Several letters may share an axis of it. A parameter with # in its name is one of a list with one for each
    head, and has no h.
    """

    tensors: tuple[str, ...]
    axes: str


def is_transposed(tensors: tuple[str, ...], axes: str) -> bool:
    """Return whether the features that a matrix makes come before those to which it is applied."""
    return axes.startswith("d") if tensors == ("w_output",) else axes.endswith("d")


@dataclass(frozen=True)
class MaskForm:
    """Form of a mask that a layer takes under an argument `name`.

    `axes` are of b, h, q, k, 1. `meaning`: ``attend`` and ``hide`` say what is True there, ``add`` that it is added,
    ``lengths`` that it is the number of keys of each batch entry.
    `numbers`: truth values come as 1 and 0 of that dtype, ``float`` being the dtype of the tokens.
    `adds` beside truth values: a mask of numbers is added. With `repeats`, one row may stand for all queries, and one
    mask for all batch entries or heads.
    """

    name: str
    axes: str
    meaning: str
    numbers: str = "bool"
    adds: bool = False
    needed: bool = False
    repeats: bool = False


@dataclass(frozen=True)
class Forward:
    """How a layer is called: own names of its arguments, to the tokens that they are, and to values that are fixed.

    `listed`: the tensors come as one list under that name. `batch_first` is False for (S, B, D); `ranks` is 2 for a
    layer of tokens without a batch.

    `grows` is ``inside`` or ``given`` for a layer with a cache that grows from call to call: under the argument
    `cache`, from the `position`, with those that are `switched` on for it. It `begins` as nothing, as a dict, or as
    an object of a class of the layer's file. `optional`: arguments that may be tables of rotations or positions.
    """

    tokens: Mapping[str, str]
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    causal: str | None = None
    listed: tuple[str, ...] = ()
    batch_first: bool = True
    rank: int = 3
    output: int | None = None
    weights: int | None = None
    cache: str | None = None
    position: str | None = None
    switched: tuple[str, ...] = ()
    grows: str | None = None
    begins: str | None = None
    optional: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_self(self) -> bool:
        """Whether one tensor is query, key and value."""
        return [*self.tokens.values()] == ["x"] and not self.listed


@dataclass(frozen=True)
class Rotation:
    """Rotation of queries and keys inside a layer: `pairing` as `apply_rotary` has it, and the `theta` of its powers.

    `share` of the features of a head are rotated, the first ones.
    """

    pairing: str = "half"
    theta: float = 10000.0
    share: float = 1.0


@dataclass(frozen=True)
class LatentWidths:
    """Features of a layer of latent attention: of each head, of latents, and of what its arguments stand for.

    A head of queries has `content` features and `rotary` ones, one of values `value_width`. `head_width` stands for
    whatever the layer calls so.
    """

    content: int
    rotary: int
    value_width: int
    latent: int
    query_latent: int
    head_width: int

    @property
    def joined(self) -> int:
        """Features of a query, those that are rotated with them."""
        return self.content + self.rotary


@dataclass(frozen=True)
class LatentTies:
    """Widths of a layer of latent attention that follow from others.

    `content` is ``own`` for a width of its own, ``head`` for D / H, ``rest`` for D / H without the rotary features;
    `value` is ``own``, ``content``, ``joined`` or ``head``. `head_width` says what it calls the width of a head:
    ``content`` or ``joined``. `has_rotary`: some features are rotated.
    """

    content: str = "own"
    value: str = "own"
    head_width: str = "content"
    has_rotary: bool = True


@dataclass(frozen=True)
class Reading:
    """All that was found of a layer.

    `causality` is ``built in``, ``unless masked`` (built in where no mask is given), ``constructor``, ``argument``,
    ``mask`` or ``none``. `rotates`: there are positions inside; `rotation` says which, where they are rotary. `dropout`
    is the rate with which it is made: above 0 where evaluation does not leave it out. `residual`: it adds its tokens to
    what it attends to. `latents` are the ties of a layer of latent attention, whose `parameters` hold other tensors.
    """

    constructor: Mapping[str, Any]
    forward: Forward
    parameters: Mapping[str, Placement] = field(default_factory=dict[str, Placement])
    masks: tuple[MaskForm, ...] = ()
    causality: str = "none"
    rotates: bool = False
    rotation: Rotation | None = None
    has_heads: bool = True
    dropout: float = 0.0
    residual: bool = False
    left_out: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64",)
    conventions: Mapping[str, str] = field(default_factory=dict[str, str])
    without: tuple[str, ...] = ()
    latents: LatentTies | None = None

    def takes_one_context(self, key: NDArray[Any], value: NDArray[Any]) -> bool:
        """Return whether keys and values come as one tensor: they are the same, or there is no other way."""
        is_context = "context" in self.forward.tokens.values() and "context" in self.constructor.values()
        return not is_context or are_same(key, value)

    @property
    def runs_head_by_head(self) -> bool:
        """Whether several heads are its own one, called for one after another: it makes them of any width."""
        is_open = {"head_width", "inner"} & {value for value in self.constructor.values() if isinstance(value, str)}
        return not self.has_heads and bool(is_open) and "w_output" not in self.tensors

    @property
    def tensors(self) -> frozenset[str]:
        """The matrices and biases that the layer holds."""
        return frozenset(name for each in self.parameters.values() for name in each.tensors)
