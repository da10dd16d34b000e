"""What an operation is: the names, axes and rules by which the harness asks for it and judges what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUIRED = object()
"""Marks an attribute that has no default: a case always states it."""

DtypeRule = Literal["of the run", "of the run or wider", "any"]
"""Which dtype an output may have: that of the run, or that or a wider float dtype, or whatever holds its values."""


class Typed(Protocol):
    """What has a dtype: an array."""

    @property
    def dtype(self) -> Any:
        """Equal to its name."""
        ...


class Examples(NamedTuple):
    """What help and messages take as examples, from one family.

    Attributes
    ----------
    convention, choice
        A convention and a choice that is not the normative one.
    argument, own_name
        An argument, and what software of others calls it.
    """

    convention: str
    choice: str
    argument: str
    own_name: str


@dataclass(frozen=True)
class Input:
    """A tensor that an operation takes.

    Attributes
    ----------
    name
        Its name.
    axes
        What each axis counts, in words; empty for a tensor of any rank.
    optional
        Whether a case may leave it out.
    broadcasts
        Whether leading axes may be missing, or have the length 1.
    derived
        The operation of which it is an output, from the other inputs and attributes; None for what is free. Whoever is
        handed it may compute it anew, so what is owed does not depend on how it is rounded: the tolerance carries that.
    """

    name: str
    axes: tuple[str, ...] = ()
    optional: bool = False
    broadcasts: bool = False
    derived: str | None = None


@dataclass(frozen=True)
class Output:
    """A tensor that an operation gives.

    Attributes
    ----------
    name
        Its name.
    axes
        What each axis counts, in words; empty for a tensor of any rank.
    owed
        Whether every implementation returns it; others may leave it out.
    where_given
        The input without which there is no such output; None for one that there is always. It must hold numbers: of
        truth values there is no gradient.
    dtype
        Which dtype it may have.
    exact
        Whether its elements are equal or wrong, as truth values and integers are; floats have a tolerance.
    intermediate
        Whether it is a step before the results. What is wrong there is wrong in them too, so that the places of wrong
        elements are told of them alone.
    """

    name: str
    axes: tuple[str, ...] = ()
    owed: bool = False
    where_given: str | None = None
    dtype: DtypeRule = "of the run or wider"
    exact: bool = False
    intermediate: bool = False


@dataclass(frozen=True)
class Operation:
    """One operation of the contract.

    Attributes
    ----------
    name
        The operation, which is also the name of the callable in an adapter.
    short_name
        What the ids of its clauses and mistakes begin with.
    family
        The family that it belongs to.
    sentence
        What it does, in words: the end of a sentence.
    takes
        Its tensors, those that every case states first.
    attributes
        Attribute name to default; ``REQUIRED`` marks one without a default.
    gives
        Its outputs, in the order in which an adapter may return them; the first one is always owed.
    steps
        Output names in the order of computing, for naming the first step that diverges; that of `gives` if empty.
    conventions
        The conventions that concern it.
    may_fuse
        Whether an implementation may hold what lies between its phases wider than half precision, and say so. One
        that stores its intermediate tensors cannot.
    backward_of
        The operation whose gradients it gives, None for most. Its inputs and outputs `grad_NAME` are the gradients
        with respect to the outputs and inputs NAME of that one; what is called as there is what it is there.
    """

    name: str
    short_name: str
    family: str
    sentence: str = ""
    takes: tuple[Input, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    gives: tuple[Output, ...] = ()
    steps: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    may_fuse: bool = False
    backward_of: str | None = None

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the tensors that every case states."""
        return tuple(tensor.name for tensor in self.takes if not tensor.optional)

    @cached_property
    def optional_inputs(self) -> tuple[str, ...]:
        """Names of the tensors that a case may leave out."""
        return tuple(tensor.name for tensor in self.takes if tensor.optional)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Every name that a case may pass: inputs, optional inputs, attributes."""
        return (*self.inputs, *self.optional_inputs, *self.attributes)

    @cached_property
    def required_arguments(self) -> tuple[str, ...]:
        """The names that every case passes."""
        return (*self.inputs, *(name for name, default in self.attributes.items() if default is REQUIRED))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in the order in which an adapter may return them."""
        return tuple(output.name for output in self.gives)

    @cached_property
    def computed_in_order(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of computing."""
        return self.steps or self.outputs

    @cached_property
    def by_name(self) -> Mapping[str, Output]:
        """The outputs by name."""
        return {output.name: output for output in self.gives}

    @cached_property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """What the axes of every tensor count, by name of the tensor."""
        return {tensor.name: tensor.axes for tensor in (*self.takes, *self.gives)}

    @cached_property
    def broadcasting(self) -> frozenset[str]:
        """Names of the inputs of which leading axes may be missing."""
        return frozenset(tensor.name for tensor in self.takes if tensor.broadcasts)

    @cached_property
    def derived(self) -> Mapping[str, str]:
        """The inputs that follow from the others, each with the operation that gives it."""
        return {tensor.name: tensor.derived for tensor in self.takes if tensor.derived is not None}

    def there(self, given: Mapping[str, Typed]) -> tuple[str, ...]:
        """Return the names of the outputs that there are where these inputs are given, in the contract's order."""
        numbers = {name for name, tensor in given.items() if tensor.dtype != "bool"}
        return tuple(
            output.name for output in self.gives if output.where_given is None or output.where_given in numbers
        )

    def owed(self, given: Mapping[str, Typed]) -> tuple[str, ...]:
        """Return the names of the outputs that are owed where these inputs are given."""
        return tuple(name for name in self.there(given) if self.by_name[name].owed)
