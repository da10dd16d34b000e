"""Backward pass of a function that offers none itself: its forward pass, differentiated by the library it is in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attnspec.base.errors import TargetError, Unsupported, UsageError
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Malformed
from attnspec.contract.operation import Operation
from attnspec.targets.calling import Signature, outputs_by_name
from attnspec.tensors import TENSORS, Differentiable, Tensors

BACKWARD = ("autograd",)
"""How a function may come to a backward pass that it does not have itself."""

_GRADIENT = "grad_"
"""Prefix in the contract of a tensor's gradient."""


class _UnnamedError(Exception):
    """The forward pass returned no set of outputs; carries the sentence out of the differentiation."""

    def __init__(self, malformed: Malformed) -> None:
        super().__init__(malformed.message)
        self.malformed = malformed


@dataclass(frozen=True)
class Differentiated:
    """The gradients of `operation`, from a function that computes its forward pass with a library's tensors."""

    function: Callable[..., Any]
    its_signature: Signature
    operation: Operation
    tensors: Differentiable

    @property
    def forward(self) -> Operation:
        """The operation that is differentiated."""
        assert self.operation.backward_of is not None
        return OPERATIONS[self.operation.backward_of]

    @property
    def signature(self) -> Signature:
        """The arguments of the backward pass: those of the forward pass, its outputs, and the gradients of these."""
        lacking = [name for name in self.forward.arguments if self.its_signature.lacks({name: None})]
        return Signature({name: name for name in self.operation.arguments if name not in lacking})

    def __call__(self, **arguments: Any) -> Mapping[str, Any] | Malformed:
        """Compute forwards, and return the gradients with respect to all inputs that have one.

        Raises Unsupported if the function does not return an output whose gradient is given.
        """
        given = {name: value for name, value in arguments.items() if name in self.forward.arguments}
        along = {name.removeprefix(_GRADIENT): value for name, value in arguments.items() if name.startswith(_GRADIENT)}
        at = {
            name: given[name]
            for name in (output.removeprefix(_GRADIENT) for output in self.operation.outputs)
            if name in given and self.tensors.has_gradient(given[name])
        }

        def compute(differentiated: Mapping[str, Any]) -> Mapping[str, Any]:
            returned = self.its_signature.call(self.function, {**given, **differentiated})
            outputs = outputs_by_name(returned, self.forward, given)
            if isinstance(outputs, Malformed):
                raise _UnnamedError(outputs)
            for name in along:
                if outputs.get(name) is None:
                    raise Unsupported(f"it returns no {name!r}, through which to differentiate")
            return outputs

        try:
            found = self.tensors.gradients(compute, at, along)
        except _UnnamedError as error:
            return error.malformed
        return {f"{_GRADIENT}{name}": gradient for name, gradient in found.items()}


def differentiated(
    functions: Mapping[str, Callable[..., Any]],
    signatures: Mapping[str, Signature],
    tensors: Tensors | None,
    backward: str,
    *,
    said_by: str,
) -> dict[str, Differentiated]:
    """Return the backward passes of functions, one of `BACKWARD`, by the library whose tensors they take.

    `said_by` names the asker in messages. Raises UsageError if there is no such way, TargetError if the tensors are of
    no library that differentiates or there is nothing to differentiate.
    """
    if backward not in BACKWARD:
        raise UsageError(f"{said_by} asks for backward passes by {backward!r}; there is {', '.join(BACKWARD)}.")
    option = f"--backward {backward}: {said_by}"
    if not isinstance(tensors, Differentiable):
        libraries = " or ".join(f"--tensors {library}" for library in TENSORS[1:])
        raise TargetError(
            f"{option} takes arrays of NumPy, which cannot be differentiated. "
            f"If it takes the tensors of another library, say so: {libraries}."
        )
    known = [operation for operation in OPERATIONS.values() if operation.backward_of is not None]
    for operation in known:
        if operation.name in functions:
            raise TargetError(f"{option} offers {operation.name} itself. Leave the option out to validate it.")
    found = [(operation, operation.backward_of) for operation in known if operation.backward_of in functions]
    if not found:
        forward = ", ".join(str(operation.backward_of) for operation in known)
        raise TargetError(f"{option} offers nothing that has a backward pass in the spec, which is: {forward}.")
    return {
        operation.name: Differentiated(functions[forward], signatures[forward], operation, tensors)
        for operation, forward in found
        if forward is not None
    }
