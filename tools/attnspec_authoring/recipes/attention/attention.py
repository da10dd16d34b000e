"""How the profiles make a case of scaled dot-product attention: sizes, drawn inputs, probes and masks.

A profile states what a case is about. What follows from its inputs is worked out here: the clauses of the features
that it uses, and the conventions on which its golden values depend.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import RecipeError
from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes.attention.attendance import (
    attendance,
    conventions,
    depends_on_alignment,
    excludes_nonfinite,
    holds_nonfinite,
    is_positional,
)
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Source, headed, reported
from attnspec_authoring.recipes.generator import grid, require_exact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.cases import ChangedArgument

ATTENTION = OPERATIONS["scaled_dot_product_attention"]
TOP_LEFT = "top_left"
BOTTOM_RIGHT = "bottom_right"
HIDDEN = -np.inf
TOP: dict[str, Any] = {"causal_alignment": TOP_LEFT}
BOTTOM: dict[str, Any] = {"causal_alignment": BOTTOM_RIGHT}
TOP_CAUSAL: dict[str, Any] = {"is_causal": True, "causal_alignment": TOP_LEFT}
BOTTOM_CAUSAL: dict[str, Any] = {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}


@dataclass(frozen=True)
class Sizes:
    """The lengths of all axes: B, Hq, Hkv, Sq, Sk, E, Ev and P."""

    batch: int
    heads: int
    shared: int
    queries: int
    keys: int
    width: int = 3
    value_width: int | None = None
    past: int = 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor that a case of these sizes has."""
        of_values = self.width if self.value_width is None else self.value_width
        shapes = {
            "query": (self.batch, self.heads, self.queries, self.width),
            "key": (self.batch, self.shared, self.keys, self.width),
            "value": (self.batch, self.shared, self.keys, of_values),
        }
        if self.past:
            shapes["past_key"] = (self.batch, self.shared, self.past, self.width)
            shapes["past_value"] = (self.batch, self.shared, self.past, of_values)
        return shapes

    @property
    def columns(self) -> int:
        """The number of keys, past ones included."""
        return self.past + self.keys

    @property
    def mask(self) -> tuple[int, int, int, int]:
        """The shape of a mask that repeats nothing."""
        return (self.batch, self.heads, self.queries, self.columns)

    def drawn(self, name: str) -> dict[str, Any]:
        """Draw every tensor from the portable generator."""
        return {tensor: grid(f"{name}/{tensor}", shape) for tensor, shape in self.shapes().items()}


def made_for(profile: str) -> Source:
    """Say that a case was made for its profile."""
    return Source(section=f"made for the profile {profile}")


@dataclass(frozen=True)
class DrawnMask:
    """A mask that is drawn by the id of its case: :func:`booleans` and :func:`floats` ask for one."""

    draw: Callable[[str, tuple[int, ...]], NDArray[Any]]
    shape: tuple[int, ...]


def booleans(*shape: int) -> DrawnMask:
    """Ask for a Boolean mask of a shape, drawn by the id of the case."""
    return DrawnMask(boolean_mask, shape)


def floats(*shape: int, hides: bool = True) -> DrawnMask:
    """Ask for a float mask of a shape, drawn by the id of the case."""
    return DrawnMask(partial(float_mask, hides=hides), shape)


def drawn_by(case_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the masks that they ask for."""
    return {
        name: value.draw(case_id, value.shape) if isinstance(value, DrawnMask) else value
        for name, value in arguments.items()
    }


def clauses_named(clauses: tuple[str, ...] | str, short_name: str) -> tuple[str, ...]:
    """Return the ids of clauses; a text names them without the short name of the operation, with spaces between."""
    return tuple(f"{short_name}.{name}" for name in clauses.split()) if isinstance(clauses, str) else clauses


@headed
def attention(
    case_id: str,
    title: str,
    sizes: Sizes,
    *,
    clauses: tuple[str, ...] | str = (),
    report: str | None = None,
    drawn_as: str | None = None,
    also: str = "",
    outputs: tuple[str, ...] = ("output",),
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    sample: Mapping[str, tuple[int, ...]] | None = None,
    changed_argument: ChangedArgument | None = None,
    revision: int = 1,
    exact: bool = True,
    **arguments: Any,
) -> AuthoredCase:
    """Make a case of scaled dot-product attention.

    Parameters
    ----------
    case_id, title, outputs, dtypes, memory_order, sample, changed_argument, revision
        As in :class:`AuthoredCase`.
    sizes
        Sizes of the tensors that are drawn.
    clauses
        What the case is about, before the clauses that follow from the features that it uses: their ids, or a text
        that names them without ``sdpa.``.
    report
        Where on GitHub a bug was reported that the case would have caught.
    also
        Outputs to store beside the first, with spaces between, instead of `outputs`.
    drawn_as
        Name that the generator draws by; the id of the case if None. Two cases can share their inputs by it.
    exact
        Whether every offered dtype must hold the inputs exactly. Where not, each dtype has its own golden.
    arguments
        Inputs, which replace drawn ones, and attributes.

    Raises
    ------
    RecipeError
        If an input is not exact in an offered dtype, or the alignment is stated where it changes nothing, or not
        stated where it changes something.
    """
    arguments, outputs = drawn_by(case_id, arguments), ("output", *also.split()) if also else outputs
    inputs = sizes.drawn(drawn_as or case_id)
    known = (*ATTENTION.inputs, *ATTENTION.optional_inputs)
    inputs |= {name: np.asarray(array) for name, array in arguments.items() if name in known}
    attributes = {name: value for name, value in arguments.items() if name not in known}
    for name, array in inputs.items() if exact else ():
        require_exact(array, dtypes, named=f"{case_id}, {name}")
    if depends_on_alignment(inputs, attributes) != ("causal_alignment" in attributes):
        raise RecipeError(f"{case_id}: state causal_alignment exactly where top_left and bottom_right differ.")
    features = feature_clauses(inputs, attributes, outputs)
    profile = case_id.split("/", 1)[0]
    return AuthoredCase(
        id=case_id,
        title=title,
        operation=ATTENTION.name,
        clauses=tuple(dict.fromkeys((*clauses_named(clauses, ATTENTION.short_name), *features)))
        or ("sdpa.scores", "sdpa.softmax.keys", "sdpa.output"),
        source=made_for(profile) if report is None else reported(report),
        inputs=inputs,
        attributes=attributes,
        outputs=outputs,
        dtypes=dtypes,
        conventions=conventions(inputs, attributes, outputs),
        memory_order=memory_order or {},
        sample=sample or {},
        changed_argument=changed_argument,
        revision=revision,
    )


def profile(name: str) -> Callable[[str, str], Callable[..., AuthoredCase]]:
    """Return how a profile makes its cases: ``softcap("steps", …)`` is then ``attention("softcap/steps", …)``."""
    return lambda case_name, title: attention(f"{name}/{case_name}", title)


def feature_clauses(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], outputs: tuple[str, ...]
) -> tuple[str, ...]:
    """Name the clauses of the features that a case uses."""
    seen = attendance(inputs, attributes)
    mask = inputs.get("mask")
    scale, softcap = attributes.get("scale"), attributes.get("softcap")
    left, right = attributes.get("window") or (None, None)
    window = attributes.get("window") is not None
    moved = bool(seen.offsets.any())
    positional = is_positional(inputs, attributes)
    bottom_right = attributes.get("causal_alignment") == BOTTOM_RIGHT
    dead, sinks = bool(seen.dead.any()), "sinks" in inputs
    logsumexp = "logsumexp" in outputs
    empty = seen.attended.shape[-1] == 0
    floats = mask is not None and mask.dtype != np.bool_
    used = {
        "heads.grouped": inputs["query"].shape[1] != inputs["key"].shape[1],
        "scale.explicit": scale is not None,
        "scale.zero": scale == 0,
        "scale.negative": scale is not None and scale < 0,
        "softcap.definition": bool(softcap),
        "softcap.off": softcap == 0,
        "softcap.order": bool(softcap) and (mask is not None or "alibi_slopes" in inputs or sinks),
        "mask.boolean": mask is not None and not floats,
        "mask.additive": floats,
        "mask.broadcast": mask is not None and mask.shape != seen.attended.shape,
        "causal.top_left": bool(attributes.get("is_causal")) and not bottom_right,
        "causal.bottom_right": bool(attributes.get("is_causal")) and bottom_right,
        "window.left": left is not None,
        "window.right": right is not None,
        "window.open_side": window and (left is None or right is None),
        "window.position": window and moved,
        "past.concatenation": "past_key" in inputs,
        "past.position": "past_key" in inputs and positional,
        "past.present": "present_key" in outputs,
        "key_lengths.exclusion": "key_lengths" in inputs,
        "key_lengths.alignment": "key_lengths" in inputs and positional and bottom_right,
        "query_lengths.rows": "query_lengths" in inputs,
        "query_lengths.alignment": "query_lengths" in inputs and positional and bottom_right,
        "alibi.distance": "alibi_slopes" in inputs,
        "alibi.heads": "alibi_slopes" in inputs,
        "alibi.position": "alibi_slopes" in inputs and moved,
        "sinks.denominator": sinks,
        "sinks.logsumexp": sinks and logsumexp,
        "sinks.fully_masked_row": sinks and dead,
        "weights": "weights" in outputs,
        "logsumexp": logsumexp,
        "fully_masked_row": dead and not sinks and not empty,
        "logsumexp.fully_masked_row": dead and logsumexp and not sinks,
        "no_keys": dead and empty,
        "nonfinite_input": holds_nonfinite(inputs),
        "masked_nonfinite": excludes_nonfinite(inputs, seen),
        **quantized_features(inputs, attributes),
    }
    return tuple(f"sdpa.{name}" for name, uses in used.items() if uses)


def quantized_features(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> dict[str, bool]:
    """Name what a case uses of quantized tensors, and whether it does."""
    scales = {name: inputs[f"{name}_scale"] for name in ("query", "key", "value") if f"{name}_scale" in inputs}
    beside = any(name in inputs for name in ("sinks", "alibi_slopes")) or bool(attributes.get("softcap"))
    adds = "mask" in inputs and inputs["mask"].dtype != np.bool_
    return {
        **{f"quantized.{name}": name in scales for name in ("query", "key", "value")},
        "quantized.heads": any(scale.ndim and scale.shape[-1] > 1 for scale in scales.values()),
        "quantized.batch": any(scale.ndim > 1 and len(scale) > 1 for scale in scales.values()),
        "quantized.order": bool(scales) and (beside or adds),
        "quantized.past": bool(scales) and "past_key" in inputs,
    }


def coarse(name: str, sizes: Sizes) -> dict[str, Any]:
    """Draw tensors of halves, which take little room."""
    return {tensor: np.round(2.0 * array) / 2.0 for tensor, array in sizes.drawn(name).items()}


def probe(sizes: Sizes) -> dict[str, Any]:
    """Make inputs whose output shows which keys were attended.

    Query and key are zero, so that all attended keys weigh the same; the values are the rows of the identity, so that
    the output is the weights. The sizes' width must be their number of keys.
    """
    identity = np.broadcast_to(np.eye(sizes.columns), (sizes.batch, sizes.shared, sizes.columns, sizes.columns))
    made: dict[str, Any] = {name: np.zeros(shape) for name, shape in sizes.shapes().items()}
    made["value"] = identity[:, :, sizes.past :]
    if sizes.past:
        made["past_value"] = identity[:, :, : sizes.past]
    return made


def probe_sizes(batch: int, heads: int, shared: int, queries: int, keys: int, past: int = 0) -> Sizes:
    """Return sizes for a probe: as wide as there are keys."""
    return Sizes(batch, heads, shared, queries, keys, width=past + keys, past=past)


def counting(sizes: Sizes) -> dict[str, Any]:
    """Make a probe with the values 1, 2, 4, ... up to 32, one feature wide: the output distinguishes the attended keys.

    From seven keys on, two sets of powers of two can have the same mean; use :func:`probe` there.
    """
    if sizes.columns > 6:
        raise RecipeError(f"Powers of two distinguish at most 6 keys, not {sizes.columns}.")
    made: dict[str, Any] = {name: np.zeros((*shape[:-1], 1)) for name, shape in sizes.shapes().items()}
    powers = np.broadcast_to(
        2.0 ** np.arange(sizes.columns)[:, np.newaxis], (sizes.batch, sizes.shared, sizes.columns, 1)
    )
    made["value"] = powers[:, :, sizes.past :]
    if sizes.past:
        made["past_value"] = powers[:, :, : sizes.past]
    return made


def every_row_keeps_one(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Mark one key of each row, so that a drawn mask leaves no fully masked row."""
    rows = np.arange(int(np.prod(shape[:-1], dtype=np.int64)))
    return (np.arange(shape[-1]) == ((2 * rows + 1) % shape[-1])[:, np.newaxis]).reshape(shape)


def boolean_mask(name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Draw a Boolean mask of about three keys in five that leaves every row at least one."""
    return (grid(f"{name}/mask", shape) > -0.375) | every_row_keeps_one(shape)


def float_mask(name: str, shape: tuple[int, ...], *, hides: bool = True) -> NDArray[np.float64]:
    """Draw a float mask of finite numbers and, if it `hides`, minus infinity at about one key in six."""
    addends = grid(f"{name}/mask", shape)
    hidden = (grid(f"{name}/hidden", shape) < -1.0) & ~every_row_keeps_one(shape)
    return np.where(hidden, HIDDEN, addends) if hides else addends
