"""The form in which a case is authored: everything but its expected values.

A recipe module gives :class:`AuthoredCase` objects from a function ``cases()``. ``attnspec regenerate`` fills the
expected values from the certified oracle and writes the JSON; nobody types a golden number.

Cases are rows of tables. A row says its name and title, then what it is made of; :func:`table` says once what all rows
have, and :func:`row` holds cells for a loop. Who adds a case adds a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.cases import ChangedArgument

Contents = ParamSpec("Contents")
Made = TypeVar("Made")

EVERY_DTYPE = ("float64", "float32", "float16", "bfloat16")
SINGLE_AND_DOUBLE = ("float64", "float32")
WITHOUT_FLOAT16 = ("float64", "float32", "bfloat16")

BEYOND_FLOAT16 = {"large": 2.0**20, "tiny": 2.0**-30}
"""Factors of numbers that float16 does not hold: a sixteenth of the first is its largest number; the second is a
sixty-fourth of its smallest."""


@dataclass(frozen=True)
class Source:
    """Where a case comes from: a document with a section, or a public link."""

    document: str | None = None
    section: str | None = None
    url: str | None = None


def reported(report: str) -> Source:
    """Name a public report of a bug that a case would have caught, such as ``pytorch/pytorch/issues/103082``."""
    return Source(url=f"https://github.com/{report}")


@dataclass(frozen=True)
class Printed:
    """Numbers (or a shape) that a source document printed, kept as it printed them.

    Attributes
    ----------
    of
        Name of an input or output of the case.
    section
        Where in the document.
    data
        The printed numbers, as a nested list of exactly the printed strings (``"4.48308990e-06"``), so that each
        carries its own decimals and exponent (None where a number cannot be read); or the printed shape, as a
        list of integers.
    decimals
        Digits after the point at which the document printed (of the mantissa, in scientific notation). It may
        exceed the digits seen, because NumPy drops trailing zeros.
    quantity
        ``values`` or ``shape``.
    index
        Leading indices into the tensor: the document printed ``tensor[index]``.
    orientation
        ``as_stored``, or ``transposed`` when the document printed the transpose of the last two axes.
    erratum
        Id of the erratum that explains why the printed numbers do not agree. None claims that they do; whether
        they do is computed and stored as ``agrees``.
    rounded_inputs
        Input name to printed decimals, where the case's inputs are themselves printed, hence rounded, numbers;
        the agreement allows what their rounding propagates.
    """

    of: str
    section: str
    data: list[Any]
    decimals: int = 8
    quantity: Literal["values", "shape"] = "values"
    index: tuple[int, ...] = ()
    orientation: Literal["as_stored", "transposed"] = "as_stored"
    erratum: str | None = None
    rounded_inputs: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Rejects:
    """An input that a conforming implementation refuses.

    Attributes
    ----------
    reason
        One sentence: what is wrong with the input.
    counterpart
        Id of the valid case that differs only in what is wrong here; graded only if the counterpart passes.
    convention
        The declared convention under which it must be refused, or None when everyone must refuse.
    """

    reason: str
    counterpart: str
    convention: tuple[str, str] | None = None


@dataclass(frozen=True)
class AuthoredCase:
    """One case as its author writes it.

    Attributes
    ----------
    id
        Path below ``golden/`` without the suffix. Never reused.
    title
        One line for a reader.
    operation
        Name of the operation.
    clauses
        Ids of the spec clauses that the case exercises.
    source
        Where it comes from.
    inputs
        Tensors by name, as NumPy arrays: float64 for floats, bool for Boolean masks, int64 for lengths.
    attributes
        Attributes by name; only those that differ from the default, and those that the case is about.
    derived
        Names of further inputs, which follow from those that are stated: the oracle fills them, too.
    outputs
        Names of the outputs to store; the first output of the operation is always among them.
    dtypes
        The dtypes in which the case is offered; empty for a case without a float dtype.
    targets
        Ids of the mistakes that the case is there to catch.
    rejects, properties
        For a case that must be refused, or one that is graded by properties; at most one of them.
    changed_argument
        The argument with which an implementation is called once more after the case, changed alone; its first output
        must then change. An input is reversed along every axis, ``ChangedArgument("query", reversed=True)``; an
        attribute that the case states gets another value, ``ChangedArgument("axis", -1)``. Never both.
    conventions
        Names of the conventions to which the golden values are sensitive.
    printed
        What the source document printed.
    errata
        Ids of the errata that the case bears on.
    memory_order
        Input name to memory layout.
    sample
        Output name to the flat indices that are stored, for outputs too long to store whole.
    whole_shapes
        Output name to its shape, for a case with generated inputs: nothing else in it has that shape.
    revision
        Raised whenever the meaning of the case changes.
    """

    id: str
    title: str
    operation: str
    clauses: tuple[str, ...]
    source: Source
    inputs: Mapping[str, NDArray[Any]] = field(default_factory=dict[str, Any])
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    derived: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ("output",)
    dtypes: tuple[str, ...] = SINGLE_AND_DOUBLE
    targets: tuple[str, ...] = ()
    rejects: Rejects | None = None
    properties: Mapping[str, Any] | None = None
    changed_argument: ChangedArgument | None = None
    conventions: tuple[str, ...] = ()
    printed: tuple[Printed, ...] = ()
    errata: tuple[str, ...] = ()
    memory_order: Mapping[str, str] = field(default_factory=dict[str, str])
    sample: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    whole_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    revision: int = 1

    @property
    def profile(self) -> str:
        """The profile is the first folder of the id."""
        return self.id.split("/", 1)[0]


def headed(make: Callable[Concatenate[str, str, Contents], Made]) -> Callable[[str, str], Callable[Contents, Made]]:
    """Take the name and the title of a case first, then what it is made of: a row of a table with its heading.

    ``attention("core/scale", "A stated scale")(SMALL, scale=2.0)`` calls the decorated function with all four.
    """
    return lambda name, title: partial(make, name, title)


@headed
def row(name: str, title: str, *cells: Any) -> tuple[Any, ...]:
    """Return a row of a table that a loop makes cases of: name, title and what else the loop unpacks."""
    return (name, title, *cells)


def table(make: Callable[[str, str], Callable[..., Made]], **common: Any) -> Callable[[str, str], Callable[..., Made]]:
    """Return `make` with what the rows of a table have in common, which is said once."""
    return lambda name, title: partial(make(name, title), **common)
