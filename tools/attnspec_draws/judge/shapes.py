"""Shapes at which a candidate is judged, and its user's own check, as they stand in a file or in Python."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from attnspec.base.errors import UsageError
from attnspec.cases.tensor_json import shapes_of
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.contract.operation import Input
from attnspec_draws import Recipe, can_be_left_out, drawable, drawn_of, words_of_draws
from attnspec_draws.drawing import case_of
from attnspec_draws.generators.drawn import CHANGED
from attnspec_draws.generators.limits import ELEMENTS, NO_AXES, Limits, TooLargeError
from attnspec_draws.generators.memory import MEMORY_ORDER
from attnspec_draws.generators.random_cases import case_generator_of, random_cases_of
from attnspec_draws.generators.refusing import REFUSED

_EXAMPLE = '{"operation": "OPERATION", "dtypes": ["float32"], "shapes": [{"INPUT": [4, 16, 1024, 64], "ATTRIBUTE": 1}]}'


_NAMES = ("operation", "dtypes", "shapes", "without", "own_check")
"""Entries of a file of shapes; the first three are required."""

MESSAGE_LIMIT = 2**32
"""Longest message in bytes: tensors of real sizes fit, and what a candidate sends without end does not."""

_BYTES_SENT = 4 / 3
"""Characters of base64 to a byte."""

ROWS = 32
"""Rows of a large draw that are compared with values; all others must lie in their hull."""

_NOT_DRAWN = (
    "attended_nan",
    "excluded_nonfinite",
    "infinite_scores",
    "nan_in_gradient",
    "nan_in_mask",
    "padded_nonfinite",
    MEMORY_ORDER,
    REFUSED,
    CHANGED,
)
"""Features never drawn at a user's shapes: memory orders, NaN and infinity, refusals, calls with another argument.

Other variants are drawn anyway.
"""


class Size(NamedTuple):
    """Size that draws of a shape may have: `elements` of the largest tensor; beyond them `rows` are sampled, if any."""

    elements: int
    rows: int = 0

    @property
    def is_large(self) -> bool:
        """Whether it is beyond that of usual draws."""
        return self != _USUAL


_USUAL = Size(ELEMENTS)


@dataclass(frozen=True)
class Shape:
    """Shape of one call as a user makes it: lengths of axes, attributes that every call states, optional inputs.

    `extents` are by the case generator's axes; `given` as `Limits` has it; `without` are features that its user's calls
    never have; `expected` counts the expected elements of all outputs; `text` is as its user wrote it, for messages;
    `size` is the least of those that draws can have at it.
    """

    operation: str
    extents: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, Any]
    given: Mapping[str, str]
    dtypes: tuple[str, ...]
    text: str
    own_check: OwnCheck | None = None
    without: frozenset[str] = frozenset()
    expected: int = 0
    size: Size = _USUAL

    @property
    def sent(self) -> int:
        """How many numbers the inputs have."""
        return sum(math.prod(of) for of in self.shapes.values())


def read_shapes(path: Path) -> tuple[Shape, ...]:
    """Read a file of shapes; `UsageError`, whose message shows how one looks, where it is unreadable or none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{path} is no file of shapes ({error}). It looks so: {_EXAMPLE}") from None
    return shapes_from(document, said_by=str(path))


def shapes_from(document: object, *, said_by: str) -> tuple[Shape, ...]:
    """Read shapes from a file's content; `UsageError` where it does not hold what it should.

    An object with ``operation``, ``dtypes``, ``shapes`` (every input's shape, attributes with values), and optionally
    ``own_check`` and ``without``, a list of features that calls never have.
    """
    if not isinstance(document, dict):
        raise UsageError(f"{said_by} holds no object. It looks so: {_EXAMPLE}")
    stated = cast("dict[str, Any]", document)
    for name in stated:
        if name not in _NAMES:
            raise UsageError(f"{said_by}: there is nothing called {name!r}; {', '.join(_NAMES)} can be said.")
    for name in _NAMES[:3]:
        if name not in stated:
            raise UsageError(f"{said_by}: {name} is missing. It looks so: {_EXAMPLE}")
    operation, dtypes, shapes = stated["operation"], stated["dtypes"], stated["shapes"]
    if operation not in drawable():
        raise UsageError(f"{said_by}: the operation {operation!r} is none that is judged; {', '.join(drawable())} are.")
    listed = cast("list[Any]", dtypes) if isinstance(dtypes, list) else []
    if not listed or not all(dtype in FLOAT_DTYPES for dtype in listed):
        raise UsageError(f"{said_by}: dtypes must be a list of some of {', '.join(FLOAT_DTYPES)}, not {dtypes!r}.")
    if not isinstance(shapes, list) or not shapes:
        raise UsageError(f"{said_by}: there are no shapes. It looks so: {_EXAMPLE}")
    every = cast("list[Any]", shapes)
    own = own_check_from(stated["own_check"], said_by=said_by) if "own_check" in stated else None
    without = _without(stated.get("without", []), said_by)
    read = [replace(_shape(operation, tuple(listed), each, own, said_by), without=without) for each in every]
    for shape in read:
        _check_size(shape)
    return tuple(_sized(shape, said_by) for shape in read)


def _sized(shape: Shape, said_by: str) -> Shape:
    """Find the least size that draws of a shape can have; `UsageError` where there is none."""
    generator = case_generator_of(shape.operation)
    elements = 0
    sampled = [Size(ELEMENTS, ROWS)] if generator.classes_of_large else []
    for size in (_USUAL, *sampled, Size(generator.largest_whole)):
        sized = replace(shape, size=size)
        try:
            return replace(sized, expected=_expected(sized, said_by))
        except TooLargeError as error:
            elements = error.elements
    raise UsageError(
        f"{said_by}: {shape.text} is graded whole, and its largest tensor, scores and other steps included, has "
        f"{elements:,} elements, of at most {generator.largest_whole:,}: take fewer batch entries, heads or tokens."
    )


def _check_size(shape: Shape) -> None:
    """Raise `UsageError` if the inputs of a shape are too large for a message to the candidate."""
    size = shape.sent * max(numpy_dtype(dtype).itemsize for dtype in shape.dtypes)
    if size * _BYTES_SENT > MESSAGE_LIMIT:
        raise UsageError(
            f"The inputs of {shape.text} have {size / 1e9:.1f} GB, and a candidate can be sent "
            f"{MESSAGE_LIMIT / _BYTES_SENT / 1e9:.1f} GB: take fewer batch entries or heads."
        )


def _expected(shape: Shape, said_by: str) -> int:
    """Count the elements expected at a shape; `UsageError` where draws would differ or for an impossible attribute."""
    recipe = Recipe(shape.operation, "shapes", 0, limits_at(shape, shape.dtypes[0]))
    try:
        drawn = drawn_of(recipe)
        outputs = drawn.thinned or shapes_of(case_of(recipe, drawn).golden(shape.dtypes[0]))
    except TooLargeError:
        raise
    except UsageError as error:
        raise UsageError(f"{said_by}: {shape.text}: {str(error).removeprefix(f'{recipe.text}: ')}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(f"{said_by}: {shape.text}: an attribute has a value that it cannot have ({error}).") from None
    of_drawn = shapes_of(drawn.inputs)
    for name, stated in shape.shapes.items():
        if of_drawn.get(name, stated) != stated:
            raise UsageError(
                f"{said_by}: {name} has the shape {list(stated)}, and beside the other inputs of {shape.text} it needs "
                f"{list(of_drawn[name])}."
            )
    return sum(math.prod(of) for of in outputs.values())


def limits_at(shape: Shape, dtype: str) -> Limits:
    """Return the limits of draws at a shape in a dtype."""
    contract = OPERATIONS[shape.operation]
    without = {*_NOT_DRAWN, *shape.without}
    without.update(name for name in contract.optional_inputs if name not in shape.given)
    without.update(name for name in contract.attributes if name not in shape.attributes)
    return Limits(
        dtype,
        frozenset(without),
        elements=shape.size.elements,
        extents=shape.extents,
        stated=shape.attributes,
        rows=shape.size.rows,
        given=shape.given,
    )


def _without(stated: Any, said_by: str) -> frozenset[str]:
    words = cast("list[Any]", stated) if isinstance(stated, list) else [stated]
    for word in words:
        if not isinstance(word, str) or not can_be_left_out(word):
            raise UsageError(
                f"{said_by}: without has {word!r}, which is nothing that a draw could leave out: write a capability "
                f"(`attnspec explain capabilities` lists them), an argument, or one of {', '.join(words_of_draws())}."
            )
    return frozenset(words)


def _shape(operation: str, dtypes: Sequence[str], stated: Any, own: OwnCheck | None, said_by: str) -> Shape:
    contract = OPERATIONS[operation]
    text = json.dumps(stated)
    if not isinstance(stated, dict):
        raise UsageError(f"{said_by}: {text} is no object of shapes and attributes.")
    entries = cast("dict[str, Any]", stated)
    inputs = {*contract.inputs, *contract.optional_inputs}
    for name in entries:
        if name not in contract.arguments:
            raise UsageError(f"{said_by}: {operation} has no argument {name!r}, which {text} names.")
    for name in contract.attributes:
        if name in entries and isinstance(contract.attributes[name], bool) != isinstance(entries[name], bool):
            kind = "true or false" if isinstance(contract.attributes[name], bool) else "a value"
            raise UsageError(f"{said_by}: {name} must be {kind}, not {entries[name]!r}.")
    shapes = {name: tuple(entries[name]) for name in entries if name in inputs and _is_shape(entries[name])}
    for name in inputs & entries.keys() - shapes.keys():
        raise UsageError(f"{said_by}: the shape of {name} must be a list of whole numbers, not {entries[name]!r}.")
    attributes = {name: value for name, value in entries.items() if name in contract.attributes}
    try:
        extents = random_cases_of(operation).extents_of(operation, shapes, attributes)
    except ValueError as error:
        raise UsageError(f"{said_by}: {text}: {error}.") from None
    for name in contract.inputs:
        if name not in shapes:
            raise UsageError(f"{said_by}: {text}: the shape of {name} is missing.")
    given = {tensor.name: _axes(tensor, shapes) for tensor in contract.takes if tensor.name in shapes}
    return Shape(
        operation=operation,
        extents=extents,
        shapes=shapes,
        attributes=attributes,
        given={name: axes for name, axes in given.items() if name in contract.optional_inputs},
        dtypes=tuple(dtypes),
        text=text,
        own_check=own,
    )


def _axes(tensor: Input, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return which axes of an input are whole, where it need not have all of them."""
    if not tensor.broadcasts:
        return ""
    return "".join("1" if length == 1 else "n" for length in shapes[tensor.name]) or NO_AXES


def _is_shape(stated: Any) -> bool:
    return isinstance(stated, list) and all(type(length) is int and length >= 0 for length in cast("list[Any]", stated))


KINDS = ("uniform", "normal")
"""Numbers as benchmarks draw them: evenly from 0 to 1, or normally around 0 with a deviation of 1."""


@dataclass(frozen=True)
class OwnCheck:
    """Check of a user's own, without this project, by the rule of `numpy.allclose`.

    `numbers` fill the inputs: one of `KINDS`, or a ``.npz`` file that holds them by name.
    """

    numbers: str
    atol: float
    rtol: float


def own_check_from(stated: object, *, said_by: str) -> OwnCheck:
    """Read a user's own check from a file of shapes; `UsageError` where it does not say what it should."""
    example = '{"numbers": "uniform", "atol": 0.01, "rtol": 0.01}'
    if not isinstance(stated, dict) or {*cast("dict[str, Any]", stated)} != {"numbers", "atol", "rtol"}:
        raise UsageError(f"{said_by}: own_check must look like {example}, not {stated!r}.")
    entries = cast("dict[str, Any]", stated)
    numbers = entries["numbers"]
    if numbers not in KINDS and not (isinstance(numbers, str) and numbers.endswith(".npz")):
        raise UsageError(
            f"{said_by}: numbers must be {', '.join(KINDS)}, or a file that ends in .npz, not {numbers!r}."
        )
    for name in ("atol", "rtol"):
        value = entries[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise UsageError(f"{said_by}: {name} must be a number from 0 on, not {value!r}.")
    return OwnCheck(numbers, float(entries["atol"]), float(entries["rtol"]))
