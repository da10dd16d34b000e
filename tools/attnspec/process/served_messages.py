"""Messages of a Python implementation behind the process protocol, the other half of `attnspec.process.messages`."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from attnspec.contract.dtypes import QUANTIZED_DTYPES
from attnspec.contract.implementation import (
    Answer,
    Crashed,
    Declaration,
    Declined,
    Malformed,
    Outputs,
    Raised,
    Request,
    TimedOut,
)
from attnspec.process.messages import VERSIONS, Message
from attnspec.process.tensors_on_the_wire import (
    NON_FINITE,
    Encoding,
    WireError,
    as_list,
    decode_tensor,
    encode_tensor,
)
from attnspec.tensors.of_numpy import copy_with_strides


def started_message(declaration: Declaration, encoding: Encoding) -> Message:
    """Answer ``start`` with what an implementation declares."""
    found = {
        "guessed": declaration.guessed,
        "not_graded": [*declaration.not_graded],
        "unfit": dict(declaration.unfit),
        "never_given": _listed(declaration.never_given),
    }
    optional = {
        "dtypes": [*declaration.dtypes] if declaration.states_dtypes else [],
        "without": [*declaration.without],
        "dtypes_of": _listed(declaration.dtypes_of),
        "demands": _listed(declaration.demands),
        "arguments": {name: each for name, each in _listed(declaration.arguments).items() if each},
        "layout": declaration.layout,
        "found": {name: said for name, said in found.items() if said},
    }
    return {
        "type": "started",
        "protocol": VERSIONS[0],
        "name": declaration.name,
        "version": declaration.version,
        "operations": list(declaration.operations),
        "conventions": dict(declaration.conventions),
        **{name: said for name, said in optional.items() if said},
        "encoding": encoding,
        "input_dtypes": list(QUANTIZED_DTYPES),
    }


def _listed(by_operation: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: [*each] for name, each in by_operation.items()}


def refused_message(message: str) -> Message:
    """Answer ``start`` with the reason why nothing can be run."""
    return {"type": "error", "message": message}


def read_run(message: Message, encoding: Encoding) -> Request:
    """Read a ``run`` request, ignoring other fields as an adapter should; WireError for one of a broken harness."""
    try:
        inputs: Mapping[str, object] = message["inputs"]
        attributes: Mapping[str, object] = message["attributes"]
        memory: Mapping[str, Mapping[str, Any]] = message.get("memory", {})
        return Request(
            operation=message["operation"],
            dtype=message["dtype"],
            inputs={
                name: _laid_out(decode_tensor(tensor, encoding, f"inputs.{name}"), memory.get(name, {}))
                for name, tensor in inputs.items()
            },
            attributes={name: _received(value) for name, value in attributes.items()},
        )
    except (KeyError, AttributeError) as problem:
        raise WireError(f"the request to run lacks a field or has a wrong one: {problem}") from None


def _laid_out(array: NDArray[Any], memory: Mapping[str, Any]) -> NDArray[Any]:
    """Return an input as the harness says that it lies in memory."""
    if "strides" in memory:
        array = copy_with_strides(array, [stride * array.itemsize for stride in memory["strides"]])
    if "readonly" in memory:
        array.flags.writeable = False
    return array


def _received(value: object) -> object:
    items = as_list(value)
    if items is not None:
        return [_received(item) for item in items]
    return NON_FINITE.get(value, value) if isinstance(value, str) else value


def answer_message(seq: int, answer: Answer, encoding: Encoding) -> Message:
    """Write an answer to ``run``; integers become int64, outputs of a dtype that the protocol lacks ``malformed``."""
    match answer:
        case Outputs(values, inputs_changed):
            try:
                tensors = {name: encode_tensor(_widest(array), encoding) for name, array in values.items()}
            except WireError as problem:
                return {"type": "malformed", "seq": seq, "message": str(problem)}
            message: Message = {"type": "outputs", "seq": seq, "outputs": tensors}
            return message | ({"inputs_changed": list(inputs_changed)} if inputs_changed else {})
        case Declined(reason):
            return {"type": "unsupported", "seq": seq, "message": reason}
        case Raised(text):
            return {"type": "error", "seq": seq, "message": text}
        case Malformed(text) | Crashed(text) | TimedOut(text):
            # A crash or a time-out behind this process must not read as a refusal, which `error` would.
            return {"type": "malformed", "seq": seq, "message": text}


def _widest(array: NDArray[Any]) -> NDArray[Any]:
    # Any integer is as wrong as another where floats are expected, and that is for the harness to say.
    return array.astype("int64") if array.dtype.kind in "iu" else array
