"""Requests that the harness makes of any implementation, and the answers that it may get.

An :class:`Implementation` is the harness's own view of the software under test: in-process objects, processes in other
languages and layout wrappers have this one shape, so that the runner need not know which it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from numpy.typing import NDArray


GUESSED = "Guessed: "
"""Beginning of what a declaration says of the operation and the names of a function that were guessed."""

DOUBTED = "Doubtful: "
"""Beginning of a line among what was guessed that a reader should see beside the failures: it may be their reason."""


class Request(NamedTuple):
    """One call of one operation, with exactly the arguments that the case states.

    Float tensors have the dtype of the run (bfloat16 by ml_dtypes). `on_surplus` is called with a sentence when more
    than the answer has come, perhaps long after it. `conventions` serve layouts; an implementation never gets them.
    """

    operation: str
    dtype: str
    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    on_surplus: Callable[[str], None] | None = None
    conventions: Mapping[str, str] = MappingProxyType({})


class Outputs(NamedTuple):
    """Tensors that came back, by name, and the inputs, list attributes and earlier outputs that the call changed."""

    values: Mapping[str, NDArray[Any]]
    inputs_changed: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()


class Declined(NamedTuple):
    """The implementation does not offer this, and says so: the case is ``unsupported``."""

    reason: str


@dataclass(frozen=True)
class Raised:
    """The implementation raised: an ``error`` on a valid case, a refusal on a ``rejects`` case.

    `error` is the exception where it was raised in this process; answers are compared without it. It keeps all frames
    alive, so nobody should hold it for long.
    """

    message: str
    error: BaseException | None = field(default=None, compare=False, repr=False)


class Malformed(NamedTuple):
    """The implementation returned something that is no set of outputs."""

    message: str


class Crashed(NamedTuple):
    """The process ended during the case, or before it and could not be restarted (not `was_requested`)."""

    message: str
    was_requested: bool = True


class TimedOut(NamedTuple):
    """The implementation gave no answer within the time allowed."""

    message: str


Answer = Outputs | Declined | Raised | Malformed | Crashed | TimedOut


class LayerCheck(NamedTuple):
    """Check of what no case can express, such as a cache inside: made of a layer where it was loaded.

    `clause` is that of its operation's page, whose last word is the `name` of the check. `message` says what is wrong,
    and is empty where nothing is.
    """

    operation: str
    clause: str
    dtype: str
    message: str = ""

    @property
    def name(self) -> str:
        """The name of the check: ``cache``."""
        return self.clause.rpartition(".")[2]

    @property
    def id(self) -> str:
        """The id under which a failure stands in reports and baselines, as if it were a case."""
        return f"layer/{self.operation}/{self.name}"


@dataclass(frozen=True)
class Declaration:
    """Declaration of an implementation: its operations, dtypes, conventions, lacking capabilities and layout.

    `adapter` is how it was reached: ``reference``, ``./mine.py:Attention``, ``node attention.mjs``. `conventions` may
    be qualified: ``softmax.fully_masked_row``, ``fully_masked_row@float64``. `dtypes_of` is for operations that offer
    not all `dtypes`; `states_dtypes`: they are its own word, and not what stands for one that says nothing of them.
    `demands` has, by operation, the arguments that follow from others and that it cannot do without. `arguments` are
    those of the contract that an operation takes, where its signature names them, and `never_given` what its signature
    names beside them. Layouts may have settings; None is the contract's own. Requests are put in `requested_in`, but
    for operations that are `not_arranged`: these have no other form in it.
    `not_graded` are public functions of the user's module that are no operations; `unfit` gives why functions cannot be
    called as the operations. `guessed` says which operation and which names were guessed, and how a layer is read.
    `is_layer`: its call may be able to say less than the contract; `layer_checks` were made of it beside the cases.
    """

    name: str
    version: str | None
    adapter: str
    operations: tuple[str, ...]
    dtypes: tuple[str, ...] = ("float64",)
    conventions: Mapping[str, str] = field(default_factory=dict[str, str])
    without: tuple[str, ...] = ()
    dtypes_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    demands: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    layout: str | None = None
    requested_in: str | None = None
    not_arranged: tuple[str, ...] = ()
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    never_given: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    not_graded: tuple[str, ...] = ()
    unfit: Mapping[str, str] = field(default_factory=dict[str, str])
    guessed: str | None = None
    states_dtypes: bool = True
    layer_checks: tuple[LayerCheck, ...] = ()
    is_layer: bool = False

    def dtypes_offered(self, operation: str) -> tuple[str, ...]:
        """Return the dtypes that it offers in an operation."""
        return self.dtypes_of.get(operation, self.dtypes)

    def lacks_argument(self, operation: str, argument: str) -> bool:
        """Return whether it is known that an operation has no such argument there."""
        named = self.arguments.get(operation)
        return argument in self.without or (named is not None and argument not in named)


@runtime_checkable
class Implementation(Protocol):
    """Software under test, behind one call."""

    @property
    def declaration(self) -> Declaration:
        """Declaration of the implementation: operations, dtypes, conventions."""
        ...

    def run(self, request: Request) -> Answer:
        """Answer one request. Never raises for what the implementation does wrong."""
        ...

    def close(self) -> None:
        """Release processes and other resources. May be called more than once."""
        ...


@runtime_checkable
class Conversing(Protocol):
    """An implementation that can say more than an answer, as a program can."""

    def hear_out(self) -> None:
        """Read all that has come since the last answer, and report it to the request that it follows."""
        ...

    def finish(self) -> None:
        """End it, and read all that it still says; a later request starts it anew."""
        ...


def hear_out(implementation: Implementation) -> None:
    """Read all that has come since the last answer, where more can come."""
    if isinstance(implementation, Conversing):
        implementation.hear_out()


def finish(implementation: Implementation) -> None:
    """End an implementation that can say more than an answer, and read all that it still says."""
    if isinstance(implementation, Conversing):
        implementation.finish()


class Wrapped:
    """Wrapper that passes every request on to an implementation; a subclass says what it does otherwise.

    A `declaration` counts instead of the implementation's own, if it is not None.
    """

    def __init__(self, implementation: Implementation, declaration: Declaration | None = None) -> None:
        self._implementation = implementation
        self._declaration = declaration

    @property
    def declaration(self) -> Declaration:
        """The declaration that counts."""
        return self._declaration or self._implementation.declaration

    def run(self, request: Request) -> Answer:
        """Answer one request."""
        return self._implementation.run(request)

    def hear_out(self) -> None:
        """Look at what has come since the last answer."""
        hear_out(self._implementation)

    def finish(self) -> None:
        """Have the implementation end, and hear all that it still says."""
        finish(self._implementation)

    def close(self) -> None:
        """Close the implementation."""
        self._implementation.close()
