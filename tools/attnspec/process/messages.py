"""Messages of the process protocol, each built and read here alone, for both ends; the spec is ``spec/protocol.md``.

The harness uses :func:`start_message`, :func:`read_started`, :func:`run_message` and :func:`read_answer`, and refuses
an answer with anything that the protocol does not have. The other half is for a Python implementation behind the
protocol; it ignores what it does not know.
"""

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from numpy.typing import NDArray

from attnspec.base.errors import UsageError
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES, QUANTIZED_DTYPES
from attnspec.contract.implementation import Answer, Declaration, Declined, Malformed, Outputs, Raised, Request
from attnspec.contract.layout import read_layout
from attnspec.families.lookup import family_of
from attnspec.process.tensors_on_the_wire import (
    ENCODINGS,
    Encoding,
    WireError,
    as_list,
    as_object,
    check_fields,
    decode_tensor,
    encode_tensor,
    is_whole,
    quoted,
    word_for,
)

Message = dict[str, Any]

VERSIONS = (1,)
"""The versions of the protocol that this harness speaks."""

STOP: Message = {"type": "stop"}

_TENSORS = ("inputs", "outputs")
"""The fields of a message that hold tensors."""

_LONG_DATA = 2**16
"""Characters of base64 above which it is put into a line as it is: JSON would look at each of them."""

_BEFORE_DATA = '"data":"'

_WITHOUT_DATA = '"data":null'
"""Stands for it meanwhile: no tensor has it, and no text can, for its quotation marks would be escaped."""

LONGEST_TEXT = 64 * 1024
"""Characters of a text of the program that are carried any further; the rest is cut off where it is read."""

_SHOWN_OF_A_LINE = 100

_SHORTEST_NUMBER = 5
"""Characters of a number in a list, at least: most of those that cases have need more, few need less."""
_LONGEST_NAME = 100
"""Characters up to which an unknown name is compared with those that there are."""


@dataclass(frozen=True)
class Started:
    """A program's answer to ``start``: its declaration, and how it writes tensors.

    `input_dtypes` are the dtypes of inputs that it reads beside those that every program reads.
    """

    declaration: Declaration
    encoding: Encoding
    input_dtypes: tuple[str, ...] = ()

    def cannot_read(self, request: Request) -> str | None:
        """Return why a request is not put to the program: an input has a dtype that it does not read."""
        for name, array in request.inputs.items():
            if array.dtype.name in QUANTIZED_DTYPES and array.dtype.name not in self.input_dtypes:
                return f"{name} is in {array.dtype.name}, which it does not say that it reads"
        return None


class StartRefusedError(WireError):
    """The program answered ``start`` with ``error``; the text is its own."""


def write_message(message: Message) -> bytes:
    """Write one message as one line."""
    apart: list[str] = []
    short = {field: _set_apart(value, apart) if field in _TENSORS else value for field, value in message.items()}
    first, *others = _ENCODER.encode(short).split(_WITHOUT_DATA)
    pieces = [first]
    for data, after in zip(apart, others, strict=True):
        pieces += (_BEFORE_DATA, data, '"', after)
    pieces.append("\n")
    return "".join(pieces).encode("ascii")


def _set_apart(tensors: Mapping[str, Any], apart: list[str]) -> dict[str, Any]:
    """Return tensors whose long base64 is put apart, with a placeholder in each."""
    short = dict(tensors)
    for name, tensor in tensors.items():
        data = tensor["data"]
        if isinstance(data, str) and len(data) > _LONG_DATA:
            apart.append(data)
            short[name] = {**tensor, "data": None}
    return short


def read_message(line: bytes) -> Message:
    """Read one line as one JSON object with a ``type``, or raise :class:`WireError`."""
    try:
        message = as_object(_DECODER.decode(line.decode("utf-8")))
    except WireError:
        raise
    except (ValueError, RecursionError):
        raise WireError(
            f"the line {_shown(line)} is no JSON; stdout is for messages, print anything else to stderr"
        ) from None
    if message is None or not isinstance(message.get("type"), str):
        raise WireError(f'the line {_shown(line)} is no message; a message is an object with a "type"')
    return message


def _shown(line: bytes) -> str:
    # A character has at most four bytes.
    return quoted(line[: 4 * _SHOWN_OF_A_LINE + 4].decode("utf-8", errors="replace").rstrip("\r\n"), _SHOWN_OF_A_LINE)


def _no_such_number(word: str) -> NoReturn:
    written = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[word]
    raise WireError(f'{word} is no JSON; write "{written}" as a string')


def _without_doubles(pairs: list[tuple[str, Any]]) -> Message:
    message = dict(pairs)
    if len(message) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise WireError(f"the field {quoted(name)} is there twice")
            seen.add(name)
    return message


# Made once: json.loads and json.dumps make theirs anew for every message that is not of the plainest kind.
_DECODER = json.JSONDecoder(parse_constant=_no_such_number, object_pairs_hook=_without_doubles)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


# The harness's half


def start_message() -> Message:
    """Offer the versions of the protocol."""
    return {"type": "start", "versions": list(VERSIONS)}


def read_started(message: Message, adapter: str) -> Started:
    """Read the answer to ``start``; `adapter` is how the program was reached, for the declaration.

    Raises StartRefusedError if the program said that it cannot start, WireError if the answer does not follow the
    protocol or picks a version that was not offered.
    """
    where = "the answer to start"
    if message["type"] == "error":
        check_fields(message, where, required=("type", "message"))
        raise StartRefusedError(_text(message, "message", where))
    if message["type"] != "started":
        raise WireError(f'{where} must have the type "started" (or "error"), not {quoted(message["type"])}')
    optional = (
        "version",
        "dtypes",
        "dtypes_of",
        "demands",
        "arguments",
        "conventions",
        "without",
        "layout",
        "encoding",
        "input_dtypes",
        "found",
    )
    check_fields(message, where, required=("type", "protocol", "name", "operations"), optional=optional)
    protocol = message["protocol"]
    if not is_whole(protocol) or protocol not in VERSIONS:
        offered = ", ".join(str(version) for version in VERSIONS)
        raise WireError(f"the program picked protocol {quoted(protocol)}, but this harness speaks {offered} only")
    encoding = message.get("encoding", ENCODINGS[0])
    if not isinstance(encoding, str) or encoding not in ENCODINGS:
        raise WireError(f'{where}: encoding must be "list" or "base64", not {quoted(encoding)}')
    declaration = Declaration(
        name=_text(message, "name", where),
        version=None if message.get("version") is None else _text(message, "version", where),
        adapter=adapter,
        operations=_names(message["operations"], "operations", tuple(OPERATIONS)),
        dtypes=_names(message.get("dtypes", ["float64"]), "dtypes", FLOAT_DTYPES),
        states_dtypes="dtypes" in message,
        conventions=_texts(message.get("conventions", {}), "conventions"),
        without=_strings(message.get("without", []), "without"),
        dtypes_of=_by_operation(message.get("dtypes_of", {}), "dtypes_of", lambda _: FLOAT_DTYPES),
        demands=_by_operation(
            message.get("demands", {}),
            "demands",
            lambda name: (*OPERATIONS[name].derived, *family_of(name).unstated.get(name, {})),
        ),
        arguments=_by_operation(
            message.get("arguments", {}), "arguments", lambda name: tuple(OPERATIONS[name].arguments)
        ),
        layout=None if "layout" not in message else _layout(message["layout"]),
        **_found(message.get("found", {})),
    )
    read = message.get("input_dtypes", [])
    return Started(declaration, encoding, () if read == [] else _names(read, "input_dtypes", QUANTIZED_DTYPES))


def _found(said: object) -> dict[str, Any]:
    """Read what was found of a Python target: a sentence, names of functions, reasons and arguments by operation."""
    found = _object(said, "found", "an object")
    check_fields(found, "found", required=(), optional=("guessed", "not_graded", "unfit", "never_given"))
    never_given = _object(found.get("never_given", {}), "found.never_given", "an object of lists by operation")
    return {
        "guessed": _text(found, "guessed", "found") if "guessed" in found else None,
        "not_graded": _strings(found.get("not_graded", []), "found.not_graded"),
        "unfit": _texts(found.get("unfit", {}), "found.unfit"),
        "never_given": {name: _strings(names, f"found.never_given.{name}") for name, names in never_given.items()},
    }


def run_message(seq: int, request: Request, encoding: Encoding) -> Message:
    """Ask for one operation: exactly the arguments that the case states, never what is expected of it."""
    memory = {name: said for name, array in request.inputs.items() if (said := _memory_of(array))}
    return {
        "type": "run",
        "seq": seq,
        "operation": request.operation,
        "dtype": request.dtype,
        "inputs": {name: encode_tensor(array, encoding) for name, array in request.inputs.items()},
        "attributes": {name: _sendable(value) for name, value in request.attributes.items()},
        **({"memory": memory} if memory else {}),
    }


def _memory_of(array: NDArray[Any]) -> dict[str, Any]:
    """Say how an array lies in memory where that is not as usual: its strides in elements, and that it is read-only."""
    strides = {} if array.flags.c_contiguous else {"strides": [stride // array.itemsize for stride in array.strides]}
    return strides if array.flags.writeable else {**strides, "readonly": True}


def characters_of(request: Request, encoding: Encoding) -> int:
    """Return about how many characters the tensors of a request take on a line, without writing it."""
    if encoding == "base64":
        return sum(array.nbytes for array in request.inputs.values()) * 4 // 3
    return sum(array.size for array in request.inputs.values()) * _SHORTEST_NUMBER


def check_seq(message: Message, seq: int) -> None:
    """Raise :class:`WireError` unless the message answers the request with this number."""
    if "seq" not in message:
        raise WireError(f'the answer of type {quoted(message["type"])} has no field "seq"')
    if not is_whole(message["seq"]) or message["seq"] != seq:
        raise WireError(f"the answer has seq {quoted(message['seq'])}, but the request had seq {seq}")


def has_earlier_seq(message: Message, seq: int) -> bool:
    """Return whether the message answers a request before the one with this number."""
    return is_whole(message.get("seq")) and 1 <= message["seq"] < seq


def read_answer(message: Message, request: Request, encoding: Encoding) -> Answer:
    """Read the answer to ``run``, whose seq is checked already; WireError if it does not follow the protocol.

    ``rejected`` and ``error`` both become :class:`Raised`: a refusal is any exception, as it is in Python.
    """
    kind = message["type"]
    if kind == "outputs":
        return _read_outputs(message, request, encoding)
    where = f"the answer {quoted(kind)}"
    if kind not in ("unsupported", "rejected", "error", "malformed"):
        raise WireError(
            f"{where} has an unknown type; the types are outputs, unsupported, rejected, error and malformed"
        )
    check_fields(message, where, required=("type", "seq", "message"))
    text = _text(message, "message", where)
    if kind == "unsupported":
        return Declined(text)
    return Malformed(text) if kind == "malformed" else Raised(text)


def _read_outputs(message: Message, request: Request, encoding: Encoding) -> Outputs:
    where = 'the answer "outputs"'
    check_fields(message, where, required=("type", "seq", "outputs"), optional=("inputs_changed",))
    tensors = _object(message["outputs"], f"{where}: outputs", "an object of tensors by name")
    operation = OPERATIONS[request.operation]
    names, required = operation.outputs, operation.required(request.inputs)
    for name in tensors:
        if name not in names:
            raise WireError(f"{request.operation} has no output {quoted(name)}; it has {', '.join(names)}")
    for name in operation.always_required(request.inputs):
        if name not in tensors:
            which = "the one output that" if len(required) == 1 else "which"
            raise WireError(f"{where} lacks {quoted(name)}, {which} {request.operation} expects")
    changed = message.get("inputs_changed", [])
    arguments = (*request.inputs, *request.attributes)
    return Outputs(
        values={name: decode_tensor(tensors[name], encoding, f"outputs.{name}") for name in tensors},
        inputs_changed=_names(changed, "inputs_changed", arguments) if changed != [] else (),
    )


def _text(message: Message, name: str, where: str) -> str:
    if not isinstance(message[name], str):
        raise WireError(f"{where}: {name} must be a string, not {quoted(message[name])}")
    text: str = message[name]
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"


def _names(value: object, field: str, known: tuple[str, ...]) -> tuple[str, ...]:
    names = as_list(value)
    if not names:
        raise WireError(f"{field} must be a list of at least one name, not {quoted(value)}")
    for name in names:
        if not isinstance(name, str) or name not in known:
            is_short = isinstance(name, str) and len(name) <= _LONGEST_NAME
            near = difflib.get_close_matches(name, known, n=1) if is_short else []
            advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise WireError(f"{field} names {quoted(name)}, which this harness does not know; {advice}")
        if names.count(name) > 1:
            raise WireError(f"{field} names {quoted(name)} twice")
    return tuple(names)


def _object(value: object, field: str, kind: str) -> Message:
    found = as_object(value)
    if found is None:
        raise WireError(f"{field} must be {kind}, not {quoted(value)}")
    return found


def _texts(value: object, field: str) -> dict[str, str]:
    found = as_object(value)
    if found is None or not all(isinstance(text, str) for text in found.values()):
        raise WireError(f"{field} must be an object of strings by name, not {quoted(value)}")
    return found


def _layout(value: object) -> str:
    if not isinstance(value, str):
        raise WireError(f"layout must be a string, not {quoted(value)}")
    try:
        read_layout(value[:_LONGEST_NAME])
    except UsageError as problem:
        raise WireError(f"layout is {quoted(value)}. {problem}") from None
    return value


def _strings(value: object, field: str) -> tuple[str, ...]:
    found = as_list(value)
    if found is None or not all(isinstance(word, str) for word in found):
        raise WireError(f"{field} must be a list of strings, not {quoted(value)}")
    return tuple(map(str, found))


def _by_operation(value: object, field: str, known: Callable[[str], tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Read lists of names by operation, whose names are among those `known` for it."""
    by_operation = _object(value, field, "an object of lists by operation")
    if by_operation:
        _names([*by_operation], field, tuple(OPERATIONS))
    return {name: _names(names, f"{field} {name}", known(name)) for name, names in by_operation.items()}


def _sendable(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_sendable(item) for item in cast("list[object]", value)]
    return word_for(value) if isinstance(value, float) else value
