"""The record of a family: data about its operations, and pure functions over cases and arrays; nothing that runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Precision, Tolerance
    from attnspec.cases import Case, Inputs
    from attnspec.contract.arrangement import Layout
    from attnspec.contract.implementation import Request

Arrays: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Tensors by name."""

Shapes: TypeAlias = "Mapping[str, tuple[int, ...]]"
"""Shapes of tensors by name."""

Calls: TypeAlias = "Generator[Request, Arrays, Arrays]"
"""Requests one after the other, each of which may hold what the one before it gave; returned are all outputs."""

Marks: TypeAlias = "Mapping[str, NDArray[np.bool_]]"
"""Elements of outputs, by the name of the output."""


Compute: TypeAlias = "Callable[[Mapping[str, Any]], Arrays]"
"""Outputs of a call in float64, from its attributes; it raises `ValueError` where it refuses them."""


class Within(NamedTuple):
    """Elements of an output that lie somewhere from `lowest` to `highest`."""

    elements: NDArray[np.bool_]
    lowest: NDArray[Any]
    highest: NDArray[Any]


class Expected(NamedTuple):
    """Expected outputs under declared conventions, by output name, and elements that these leave open.

    `under` names the declarations that changed something, such as ``convention=choice``. `within` has elements of
    outputs that need only lie between two ends, which broadcast.
    """

    outputs: Arrays
    ungraded: Marks
    under: tuple[str, ...]
    within: Mapping[str, Within] = MappingProxyType({})


class KeySets(NamedTuple):
    """Keys that queries attended, and those that they should have, both (B, H, Sq, Sk)."""

    attended: NDArray[np.bool_]
    expected: NDArray[np.bool_]


class Direction(NamedTuple):
    """Direction of a systematic error: a factor that may be off for all elements alike.

    `subject` begins a sentence about it, such as "the scale is"; it shows in the elements of `outputs`. `derivatives`
    gives theirs by the logarithm of the factor, from a function of the attributes that computes outputs, the operation,
    the shapes of the inputs and the attributes: NaN for elements that are not to speak. It is None for a factor of the
    outputs themselves, whose derivatives are their expected values. `parameter` is the number that the factor goes
    with, if it is one, from the operation, the shapes of the inputs and the attributes: a chain of calls may round it
    to half precision.
    """

    name: str
    subject: str
    outputs: tuple[str, ...]
    derivatives: Callable[[Compute, str, Shapes, Mapping[str, Any]], Arrays] | None = None
    parameter: Callable[[str, Shapes, Mapping[str, Any]], float] | None = None


class Part(NamedTuple):
    """Call of a part of a case, whose results have the bits of the whole call where these do not depend on the batch.

    `kind` is the property that this shows: a word, such as ``alone``; `sentence` says which part it is: "batch entry 1
    alone". Its `inputs` replace those of the case. Compared are outputs with the axes of `elements`, in the words of
    the contract, each with the indices of the same elements in the whole call and in this one.
    """

    kind: str
    sentence: str
    inputs: Arrays
    elements: Mapping[str, tuple[Sequence[int], Sequence[int]]]


class Steps(NamedTuple):
    """Calls of a case in steps, of which later ones are handed what earlier ones kept.

    `sentence` says how it is cut: "in steps of 3, 1 and 2 tokens behind a past". `calls` gives the cases that are
    called one after the other, is sent the outputs of each, and returns those of the whole call, and what is wrong with
    what was kept: empty where nothing is.
    """

    sentence: str
    calls: Generator[Case, Arrays, tuple[Arrays, str]]


class PropertyProblem(NamedTuple):
    """The property that a result lacks: the check that failed, and a sentence."""

    check: str
    message: str


ToleranceModel: TypeAlias = "Callable[[str, Arrays, Mapping[str, Any], Precision, Mapping[str, str]], Tolerance]"
"""Values and tolerances of the outputs of a case, from operation, inputs, attributes, precision and conventions.

The inputs are as the run sees them (rounded to its dtype), in float64, bool or int64. The precision is the unit
roundoffs of a run, or those of several, stacked; of conventions, every choice for the operation is given.
"""

Sample: TypeAlias = "Mapping[str, NDArray[np.int64]]"
"""Output name to the flat indices of its sampled elements."""

SampledToleranceModel: TypeAlias = (
    "Callable[[str, Inputs, Mapping[str, Any], Sample, Precision, Mapping[str, str]], Tolerance]"
)
"""Values and tolerances of sampled elements of a case that is too large to be bounded whole, and bounds elsewhere.

The arguments are those of a `ToleranceModel`, and in the middle the sample. Inputs are the same in every dtype;
generated ones are to be drawn in parts. The precision is that of several runs. It raises `ValueError` if the case
cannot be bounded so.
"""


def _no_sample(operation: str, *_: Any) -> Tolerance:
    raise ValueError(f"{operation} has no bound of sampled elements")


def _nothing(*_: Any) -> None:
    """Return nothing, for a family that has no such question."""
    return


@dataclass(frozen=True)
class Family:
    """One family of operators.

    Attributes
    ----------
    name
        Its name, which is that of its folders.
    tolerance
        Its error bound: values and tolerances of every output of every operation that has golden values.
    features
        Features of a case, each as the rest of a sentence that begins with "The case has", and whether it has it.
    formula
        The lines of NumPy that compute a case's outputs from its inputs, under the contract's names; for a case that is
        graded by properties, the lines that draw a result and test it for them.
    sampled_tolerance
        Its error bound for cases with generated inputs, of which sampled elements are graded.
    expected
        Expected outputs under declared conventions that change results, from the normative ones, every convention's
        choice, the tolerances, and the run's index among those that they stand for.
    handed
        Inputs under declared conventions, such as a logarithm to another base, from operation, inputs, attributes and
        every convention's choice. They are then rounded to the run's dtype; the tolerances carry that rounding.
    computed_under
        Outputs of a mistake under declared conventions, from those under the normative ones. Elements that a convention
        decides are left as they are: they are judged apart.
    empty
        Elements that come from nothing, by output, from the operation and the outputs of a mistake: a convention may
        decide them, too.
    also_right
        Elements that are right although they differ, because the order of a right computation decides them; from
        operation, output, given and expected array. None for none.
    lacks_property
        The property that a result graded by properties lacks, from operation, attributes and outputs; None for none.
    parts
        Calls of parts of a case, to see whether batches matter; from the case, words for the parts that the contract
        has for it, and every convention's choice.
    steps
        Calls of a case in steps, from the case as the run sees it, a word for how, of those that the contract has for
        it, and every convention's choice; None where the declared ones leave no such call.
    changes_tolerance
        Conventions that change the tolerances themselves, with the inputs of which one must be there for it.
    in_calls
        The calls that a request is made of where an implementation does not take it at once: a generator that gives
        requests, is sent the outputs of each by name, and returns those of the whole; None for a single call.
    needs
        The capabilities that a case needs, of those that the family's contract lists.
    layouts
        Name of a layout to its arrangement of a request, which are loaded when it is called.
    entered_in_layout
        Elements of outputs that NaN and infinity may enter in a layout under declared conventions, because these stand
        beside what is attended; from a case, the layout and every convention's choice.
    key_sets
        Keys that each query attended in a run, and should have; None where outputs do not show them.
    attendable
        Keys that each query may attend (B, H, Sq, Sk); None where a case has no such question.
    attended_axis
        The name in the contract of the last axis of `attendable`; None where there is no such question.
    is_probe
        Whether the output of a case holds the weights, so that it shows key sets by itself.
    shows_little
        Whether many mistakes cannot be seen in a case, so that it is looked at after others.
    usual_names
        Argument to other names that software usually has for it, the most usual first.
    directions
        Directions of systematic errors of an operation, which are fitted together; none where they are not measured.
    unstated
        Operation to arguments, each with its value where a case states none, as a Python expression, for functions that
        demand it.
    unstated_value
        That value in a case, from the case and the argument; None where the shapes of its inputs do not give it.
    nonfinite_profiles
        Profiles of cases with NaN and infinity among the inputs: NaN takes other ways through two programs that make
        the same mistake.
    least_telling_profiles
        Profiles that are looked at last, for mistakes there are none of arithmetic.
    """

    name: str
    tolerance: ToleranceModel
    features: Callable[[Case], list[tuple[str, bool]]]
    formula: Callable[[Case], list[str]]
    sampled_tolerance: SampledToleranceModel = _no_sample
    expected: Callable[[Arrays, Mapping[str, str], Tolerance, int], Expected] = lambda outputs, _, __, ___: Expected(
        outputs, {}, ()
    )
    handed: Callable[[str, Arrays, Mapping[str, Any], Mapping[str, str]], Arrays] = lambda _, inputs, __, ___: inputs
    computed_under: Callable[[Arrays, Mapping[str, str], Tolerance], Arrays] = lambda outputs, _, __: outputs
    empty: Callable[[str, Arrays], Marks] = lambda _, __: {}
    also_right: Callable[[str, str, NDArray[Any], NDArray[Any]], NDArray[np.bool_] | None] = _nothing
    lacks_property: Callable[[str, Mapping[str, Any], Arrays], PropertyProblem | None] = _nothing
    parts: Callable[[Case, Sequence[str], Mapping[str, str]], Sequence[Part]] = lambda _, __, ___: ()
    steps: Callable[[Case, str, Mapping[str, str]], Steps | None] = _nothing
    changes_tolerance: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    in_calls: Callable[[Request], Calls | None] = _nothing
    needs: Callable[[Case], frozenset[str]] = lambda _: frozenset()
    layouts: Callable[[], Mapping[str, Layout]] = dict
    entered_in_layout: Callable[[Case, str, Mapping[str, str]], Marks] = lambda _, __, ___: {}
    key_sets: Callable[[Case, str, Arrays], KeySets | None] = _nothing
    attendable: Callable[[Case], NDArray[np.bool_] | None] = _nothing
    attended_axis: str | None = None
    is_probe: Callable[[Case], bool] = lambda _: False
    shows_little: Callable[[Case], bool] = lambda _: False
    usual_names: Callable[[], Mapping[str, Sequence[str]]] = dict
    directions: Callable[[str], tuple[Direction, ...]] = lambda _: ()
    unstated: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])
    unstated_value: Callable[[Case, str], object] = _nothing
    nonfinite_profiles: tuple[str, ...] = ()
    least_telling_profiles: tuple[str, ...] = ()
