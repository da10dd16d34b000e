"""What the harness asks of any implementation, and the answers that it may get.

An :class:`Implementation` is the harness's own view of the software under test. In-process objects, processes
in other languages and layout wrappers all give this one shape, so that the runner need not know which it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


class Request(NamedTuple):
    """One call of one operation, with exactly the arguments that the case states.

    Attributes
    ----------
    operation
        Name of the operation.
    dtype
        The dtype of the run: ``float64``, ``float32``, ``float16`` or ``bfloat16``.
    inputs
        Tensors by name. Float tensors have the dtype of the run (bfloat16 by ml_dtypes).
    attributes
        Attributes by name, as plain Python values.
    on_surplus
        Is told, in a sentence, when more than the answer is found to have come; that may be long after the answer.
    conventions
        Every convention's choice for the run, for who arranges the request; an implementation is never told.
    """

    operation: str
    dtype: str
    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    on_surplus: Callable[[str], None] | None = None
    conventions: Mapping[str, str] = MappingProxyType({})


class Outputs(NamedTuple):
    """The implementation returned values.

    Attributes
    ----------
    values
        The returned tensors, by output name.
    inputs_changed
        Names of the inputs, and of attributes that are lists, that the call was seen to change.
    overwritten
        Names of outputs of an earlier call that were seen to have changed since they were returned.
    """

    values: Mapping[str, NDArray[Any]]
    inputs_changed: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()


class Declined(NamedTuple):
    """The implementation does not offer this, and says so: the case is ``unsupported``."""

    reason: str


@dataclass(frozen=True)
class Raised:
    """The implementation raised: an ``error`` on a valid case, a refusal on a ``rejects`` case.

    Attributes
    ----------
    message
        What it raised, in a sentence.
    error
        The exception with its traceback, where it was raised in this process, for who wants to debug it; two answers
        are the same answer without regard to it. It keeps all frames alive, so nobody should hold it for long.
    """

    message: str
    error: BaseException | None = field(default=None, compare=False, repr=False)


class Malformed(NamedTuple):
    """The implementation returned something that is no set of outputs."""

    message: str


class Crashed(NamedTuple):
    """The implementation's process ended in the middle of the case.

    Attributes
    ----------
    message
        How it ended.
    was_asked
        Whether it had the request; False where it had ended before and could not be started again.
    """

    message: str
    was_asked: bool = True


class TimedOut(NamedTuple):
    """The implementation gave no answer within the time allowed."""

    message: str


Answer = Outputs | Declined | Raised | Malformed | Crashed | TimedOut


@dataclass(frozen=True)
class Declaration:
    """What an implementation says about itself.

    Attributes
    ----------
    name, version
        How reports call it. The version may be None.
    adapter
        How it was reached, for the report: ``reference``, ``./mine.py:Attention``, ``node attention.mjs``.
    operations
        The operations that it offers.
    dtypes
        The dtypes that it offers, in any operation.
    conventions
        Declared conventions, by name, possibly qualified by an operation (``softmax.fully_masked_row``), and by dtypes
        and capabilities (``fully_masked_row@float64``).
    without
        The capabilities that it does not offer.
    dtypes_of
        The dtypes of operations that offer not all of `dtypes`.
    layout
        How its tensors lie, one of :data:`attnspec.contract.LAYOUTS`, perhaps with settings; None for the contract's
        own layout.
    asked_in
        The layout in which requests are put to it: the one that it declares, or another that was asked for; None for
        the contract's own.
    not_graded
        Names of public functions that stand beside the operations in the user's own module, and are none.
    unfit
        Name to reason, for functions that are called like an operation and cannot be called as one.
    """

    name: str
    version: str | None
    adapter: str
    operations: tuple[str, ...]
    dtypes: tuple[str, ...] = ("float64",)
    conventions: Mapping[str, str] = field(default_factory=dict[str, str])
    without: tuple[str, ...] = ()
    dtypes_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    layout: str | None = None
    asked_in: str | None = None
    not_graded: tuple[str, ...] = ()
    unfit: Mapping[str, str] = field(default_factory=dict[str, str])

    def dtypes_offered(self, operation: str) -> tuple[str, ...]:
        """Return the dtypes that it offers in an operation."""
        return self.dtypes_of.get(operation, self.dtypes)


@runtime_checkable
class Implementation(Protocol):
    """Software under test, behind one call."""

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself."""
        ...

    def run(self, request: Request) -> Answer:
        """Answer one request. Never raises for what the implementation does wrong."""
        ...

    def close(self) -> None:
        """Release processes and other resources. May be called more than once."""
        ...


@runtime_checkable
class Conversing(Protocol):
    """An implementation that can say more than it was asked for, as a program can."""

    def hear_out(self) -> None:
        """Look at what has come since the last answer, and tell the request that it follows."""
        ...

    def finish(self) -> None:
        """Have it end, and hear all that it still says; it can be asked again, and is then started anew."""
        ...


def hear_out(implementation: Implementation) -> None:
    """Look at what has come since the last answer, where more can come."""
    if isinstance(implementation, Conversing):
        implementation.hear_out()


def finish(implementation: Implementation) -> None:
    """Have an implementation end that can say more than it was asked for, and hear all that it still says."""
    if isinstance(implementation, Conversing):
        implementation.finish()
