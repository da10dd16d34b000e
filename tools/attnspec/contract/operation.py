"""Operations: the names, axes and rules by which the harness calls them and judges the answers."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

REQUIRED = object()
"""Marks an attribute that has no default: a case always states it."""

DtypeRule = Literal["of the run", "of the run or wider", "any"]
"""Which dtype an output may have: that of the run, or that or a wider float dtype, or whatever holds its values."""


class Typed(Protocol):
    """Object with a dtype: an array."""

    @property
    def dtype(self) -> Any:
        """Equal to its name."""
        ...


class Examples(NamedTuple):
    """Examples for help and messages: a choice that is not normative; an argument, and its name in other software."""

    convention: str
    choice: str
    argument: str
    own_name: str


@dataclass(frozen=True)
class Input:
    """A tensor that an operation takes, with the meaning of each axis in words (empty: any rank).

    A case may leave out an `optional` one; leading axes of one that `broadcasts` may be missing, or have the length 1.
    `derived` is the operation that gives it from the other inputs and attributes, None for a free input. An
    implementation may compute it anew, so the expected values ignore how it is rounded: the tolerance carries that.
    """

    name: str
    axes: tuple[str, ...] = ()
    optional: bool = False
    broadcasts: bool = False
    derived: str | None = None


@dataclass(frozen=True)
class Output:
    """A tensor that an operation gives, with the meaning of each axis in words (empty: any rank).

    A `required` one is expected of every implementation. There is none without the input `where_given` (None: there is
    one always), which must hold numbers: truth values have no gradient. Elements of an `exact` one are equal or wrong,
    as truth values and integers are; floats have a tolerance. An `intermediate` one is a step before the results, in
    which its mistakes show, too: the positions of wrong elements are reported of results alone. A required one with a
    `capability` is not expected of an implementation that is declared to be without that. One `like` an input that is
    quantized may have any dtype that holds its values, such as that of the input.
    """

    name: str
    axes: tuple[str, ...] = ()
    required: bool = False
    where_given: str | None = None
    dtype: DtypeRule = "of the run or wider"
    exact: bool = False
    intermediate: bool = False
    capability: str | None = None
    like: str | None = None


@dataclass(frozen=True)
class Operation:
    """One operation of the contract, by the name of the callable in an adapter.

    Attributes
    ----------
    short_name
        How the ids of its clauses and mistakes begin.
    sentence
        Its purpose, in words: the end of a sentence.
    takes, attributes
        Its tensors, those that every case states first; attribute to default, ``REQUIRED`` for one without a default.
    gives, steps
        Its outputs, in the order in which an adapter may return them, the first one always expected; their names in the
        order of computing, for naming the first step that diverges (empty: the same order).
    conventions
        The conventions that concern it.
    may_fuse
        Whether an implementation may hold tensors between its phases wider than half precision, and say so. One that
        stores its intermediate tensors cannot.
    backward_of
        The operation whose gradients it gives, None for most. Inputs and outputs `grad_NAME` are the gradients with
        respect to the outputs and inputs NAME of that one; equal names mean the same in both.
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
    def defaults(self) -> Mapping[str, object]:
        """The attributes that a case may leave out, each with its value there."""
        return {name: default for name, default in self.attributes.items() if default is not REQUIRED}

    def beside_defaults(self, arguments: Mapping[str, Any], taken: Container[str]) -> dict[str, Any]:
        """Return arguments without attributes that are not `taken` and have the very value that they have left out."""
        return {
            name: value
            for name, value in arguments.items()
            if name in taken or name not in self.defaults or value != self.defaults[name]
        }

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in the order in which an adapter may return them."""
        return tuple(output.name for output in self.gives)

    @cached_property
    def computed_in_order(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of computing."""
        return self.steps or self.outputs

    @cached_property
    def outputs_by_name(self) -> Mapping[str, Output]:
        """The outputs by name."""
        return {output.name: output for output in self.gives}

    @cached_property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """Meaning of the axes of every tensor, by name of the tensor."""
        return {tensor.name: tensor.axes for tensor in (*self.takes, *self.gives)}

    @cached_property
    def broadcasting(self) -> frozenset[str]:
        """Names of the inputs of which leading axes may be missing."""
        return frozenset(tensor.name for tensor in self.takes if tensor.broadcasts)

    @cached_property
    def derived(self) -> Mapping[str, str]:
        """The inputs that follow from the others, each with the operation that gives it."""
        return {tensor.name: tensor.derived for tensor in self.takes if tensor.derived is not None}

    def existing_outputs(self, given: Mapping[str, Typed]) -> tuple[str, ...]:
        """Return the names of the outputs that exist for these inputs, in the contract's order."""
        numbers = {name for name, tensor in given.items() if tensor.dtype != "bool"}
        return tuple(
            output.name for output in self.gives if output.where_given is None or output.where_given in numbers
        )

    def required(self, given: Mapping[str, Typed]) -> tuple[str, ...]:
        """Return the names of the outputs that are expected for these inputs."""
        return tuple(name for name in self.existing_outputs(given) if self.outputs_by_name[name].required)

    def always_required(self, given: Mapping[str, Typed]) -> tuple[str, ...]:
        """Return the names of the outputs that are expected for these inputs whatever is declared."""
        return tuple(name for name in self.required(given) if self.outputs_by_name[name].capability is None)

    def lacking(self, without: Container[str | None]) -> "Operation":
        """Return the operation as it is expected of an implementation without some capabilities."""
        if not any(output.required and output.capability in without for output in self.gives):
            return self
        gives = tuple(replace(each, required=each.required and each.capability not in without) for each in self.gives)
        return replace(self, gives=gives)
