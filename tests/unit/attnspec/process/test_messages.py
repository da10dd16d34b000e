"""The messages of the process protocol: the harness is strict, and the schema says the same as the code."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES, QUANTIZED_DTYPES
from attnspec.contract.implementation import (
    Crashed,
    Declaration,
    Declined,
    Malformed,
    Outputs,
    Raised,
    Request,
    TimedOut,
)
from attnspec.process import messages, served_messages
from attnspec.process.tensors_on_the_wire import DTYPES, ENCODINGS, MOST_AXES, WireError

SCHEMA = json.loads((Path(__file__).parents[4] / "spec" / "schemas" / "protocol.schema.json").read_text("utf-8"))
REQUEST = Request("softmax", "float64", {"x": np.array([0.0, -np.inf])}, {"axis": 0})
TENSOR = {"dtype": "float64", "shape": [2], "data": [1, 0]}
STARTED = {"type": "started", "protocol": 1, "name": "mine", "operations": ["softmax"]}
OUTPUTS = {"type": "outputs", "seq": 7, "outputs": {"output": TENSOR}}


def follows_schema(message, definition):
    schema = {"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(schema).is_valid(message)


def read_answer(message):
    messages.check_seq(message, 7)
    return messages.read_answer(message, REQUEST, "list")


def test_the_schema_is_one_and_names_what_the_code_names():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]
    assert all(re.search(definitions["operation"]["pattern"], operation) for operation in OPERATIONS)
    assert definitions["tensor"]["properties"]["dtype"]["enum"] == list(DTYPES)
    assert definitions["tensor"]["properties"]["shape"]["maxItems"] == MOST_AXES
    assert definitions["started"]["properties"]["dtypes"]["items"]["enum"] == list(FLOAT_DTYPES)
    assert definitions["run"]["properties"]["dtype"]["enum"] == [*FLOAT_DTYPES, ANY]
    assert definitions["encoding"]["enum"] == list(ENCODINGS)
    assert definitions["encoding"]["default"] == ENCODINGS[0]


def test_a_short_start_answer_means_the_defaults():
    started = messages.read_started(STARTED, "node mine.mjs")
    expected = Declaration("mine", None, "node mine.mjs", ("softmax",), ("float64",), {}, states_dtypes=False)
    assert started.declaration == expected
    assert started.encoding == "list"
    assert follows_schema(STARTED, "start_answer")


def test_a_full_start_answer_survives_the_way_there_and_back():
    declaration = Declaration(
        "mine",
        "0.3",
        "node mine.mjs",
        ("softmax", "causal_mask"),
        ("float32", "bfloat16"),
        {"softmax.fully_masked_row": "nan"},
        guessed="x is z",
        not_graded=("attention",),
        unfit={"merge_states": "it takes nothing"},
        never_given={"softmax": ("dim",)},
    )
    message = served_messages.started_message(declaration, "base64")
    assert messages.read_started(message, "node mine.mjs") == messages.Started(declaration, "base64", QUANTIZED_DTYPES)
    assert follows_schema(message, "start_answer")


BROKEN_STARTS = {
    "demands of nothing that follows": (
        {"demands": {"scaled_dot_product_attention_backward": ["query"]}},
        "demands scaled_dot_product_attention_backward",
    ),
    "another type": ({"type": "outputs"}, 'the type "started"'),
    "no name": ({"name": None}, "name must be a string"),
    "a version that was not offered": ({"protocol": 2}, "picked protocol 2, but this harness speaks 1"),
    "a version that is no number": ({"protocol": True}, "picked protocol true"),
    "a misspelt field": ({"dtype": ["float32"]}, 'a field "dtype"'),
    "an operation that is no name": ({"operations": [1]}, "operations names 1"),
    "no operations": ({"operations": []}, "at least one name"),
    "operations that are no list": ({"operations": "softmax"}, "at least one name"),
    "an operation twice": ({"operations": ["softmax", "softmax"]}, "twice"),
    "an unknown dtype": ({"dtypes": ["float8"]}, 'dtypes names "float8"'),
    "a dtype that is no float": ({"dtypes": ["int64"]}, 'dtypes names "int64"'),
    "conventions that are no object": ({"conventions": ["nan"]}, "conventions must be an object"),
    "a convention that is no word": ({"conventions": {"accumulation": 1}}, "conventions must be an object"),
    "an unknown encoding": ({"encoding": "hex"}, 'not "hex"'),
    "an encoding that is no word": ({"encoding": ["list"]}, "encoding must be"),
    "found that is no object": ({"found": ["x is z"]}, "found must be an object"),
    "found names that are no texts": ({"found": {"never_given": {"softmax": [1]}}}, "never_given.softmax must be"),
    "a version that is no word": ({"version": 3}, "version must be a string"),
}


@pytest.mark.parametrize("name", BROKEN_STARTS)
def test_a_broken_start_answer_is_refused_by_code_and_schema(name):
    change, message = BROKEN_STARTS[name]
    with pytest.raises(WireError, match=message):
        messages.read_started(STARTED | change, "node mine.mjs")
    assert not follows_schema(STARTED | change, "start_answer")


def test_a_misspelt_operation_is_refused_by_the_contract():
    with pytest.raises(WireError, match="did you mean softmax"):
        messages.read_started(STARTED | {"operations": ["sofmax"]}, "node mine.mjs")


@pytest.mark.parametrize("field", ["protocol", "name", "operations"])
def test_a_start_answer_owes_these_fields(field):
    answer = {name: value for name, value in STARTED.items() if name != field}
    with pytest.raises(WireError, match=f'no field "{field}"'):
        messages.read_started(answer, "node mine.mjs")
    assert not follows_schema(answer, "start_answer")


def test_a_program_may_say_why_it_cannot_start():
    refusal = served_messages.refused_message("no GPU here")
    with pytest.raises(messages.StartRefusedError, match=r"^no GPU here$"):
        messages.read_started(refusal, "node mine.mjs")
    assert follows_schema(refusal, "start_answer")


def test_a_run_request_holds_what_the_case_states_and_no_more():
    request = messages.run_message(7, REQUEST, "list")
    assert request == {
        "type": "run",
        "seq": 7,
        "operation": "softmax",
        "dtype": "float64",
        "inputs": {"x": {"dtype": "float64", "shape": [2], "data": [0.0, "-inf"]}},
        "attributes": {"axis": 0},
    }
    assert follows_schema(request, "request")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_run_request_survives_the_way_there_and_back(encoding):
    attributes = {"axis": None, "scale": 0.1, "window": [1, None], "low": -np.inf, "causal_alignment": "top_left"}
    sent = Request("softmax", "float64", {"x": np.array([[0.1, np.nan]])}, attributes)
    line = messages.write_message(messages.run_message(1, sent, encoding))
    request = messages.read_message(line) | {"hint": "a later harness may say more"}
    received = served_messages.read_run(request, encoding)
    assert received.attributes == attributes
    assert received.inputs["x"].tobytes() == sent.inputs["x"].tobytes()
    assert follows_schema(request, "request")


ANSWERS = [Declined("no axis"), Raised("ValueError: too wide"), Malformed("softmax returned None")]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_an_answer_in_words_survives_the_way_there_and_back(answer):
    message = served_messages.answer_message(7, answer, "list")
    assert read_answer(message) == answer
    assert follows_schema(message, "run_answer")


@pytest.mark.parametrize("answer", [Crashed("gone"), TimedOut("late")])
def test_a_crash_behind_the_protocol_is_no_refusal(answer):
    assert isinstance(read_answer(served_messages.answer_message(7, answer, "list")), Malformed)


def test_a_refusal_and_an_error_are_both_an_exception():
    for kind in ("rejected", "error"):
        message = {"type": kind, "seq": 7, "message": "too wide"}
        assert read_answer(message) == Raised("too wide")
        assert follows_schema(message, "run_answer")


def test_outputs_survive_with_the_inputs_that_changed():
    message = served_messages.answer_message(7, Outputs({"output": np.array([1.0, 0.0])}, ("x",)), "list")
    answer = read_answer(message)
    assert isinstance(answer, Outputs)
    assert answer.values["output"].tolist() == [1.0, 0.0]
    assert answer.inputs_changed == ("x",)
    assert follows_schema(message, "run_answer")


def test_outputs_of_a_strange_dtype_cost_no_more_than_their_case():
    integers = read_answer(served_messages.answer_message(7, Outputs({"output": np.ones(2, "int32")}), "list"))
    assert isinstance(integers, Outputs)
    assert integers.values["output"].dtype == np.int64
    strange = read_answer(served_messages.answer_message(7, Outputs({"output": np.ones(2, complex)}), "list"))
    assert isinstance(strange, Malformed)
    assert "complex128" in strange.message


BROKEN_ANSWERS = {
    "no seq": ({"type": "outputs", "outputs": {"output": TENSOR}}, 'no field "seq"'),
    "a Boolean seq": (OUTPUTS | {"seq": True}, "has seq true"),
    "a seq in words": (OUTPUTS | {"seq": "7"}, 'has seq "7"'),
    "an unknown type": (OUTPUTS | {"type": "output"}, "unknown type"),
    "no outputs": ({"type": "outputs", "seq": 7}, 'no field "outputs"'),
    "outputs that are a list": (OUTPUTS | {"outputs": [TENSOR]}, "object of tensors by name"),
    "outputs that are none": (OUTPUTS | {"outputs": {}}, 'lacks "output"'),
    "a field too many": (OUTPUTS | {"seconds": 3}, 'a field "seconds"'),
    "a tensor that is null": (OUTPUTS | {"outputs": {"output": None}}, "outputs.output must be an object"),
    "no message": ({"type": "rejected", "seq": 7}, 'no field "message"'),
    "a message that is no string": ({"type": "error", "seq": 7, "message": 3}, "message must be a string"),
    "inputs_changed that is no list": (OUTPUTS | {"inputs_changed": "x"}, "inputs_changed must be"),
    "an input that changed twice": (OUTPUTS | {"inputs_changed": ["x", "x"]}, "twice"),
}


@pytest.mark.parametrize("name", BROKEN_ANSWERS)
def test_a_broken_answer_is_refused_by_code_and_schema(name):
    message, problem = BROKEN_ANSWERS[name]
    with pytest.raises(WireError, match=problem):
        read_answer(message)
    assert not follows_schema(message, "run_answer")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"outputs": {"output": TENSOR, "weights": TENSOR}}, 'softmax has no output "weights"'),
        ({"inputs_changed": ["y"]}, 'inputs_changed names "y"'),
        ({"seq": 8}, "has seq 8, but the request had seq 7"),
    ],
)
def test_an_answer_that_does_not_fit_its_request_is_refused(change, problem):
    with pytest.raises(WireError, match=problem):
        read_answer(OUTPUTS | change)


def test_a_seq_may_be_written_with_a_point():
    assert isinstance(read_answer(OUTPUTS | {"seq": 7.0}), Outputs)
    assert follows_schema(OUTPUTS | {"seq": 7.0}, "run_answer")


@pytest.mark.parametrize("kind", ["unsupported", "rejected", "error", "malformed"])
def test_a_text_of_any_length_is_cut_where_it_is_read(kind):
    answer = read_answer({"type": kind, "seq": 7, "message": "x" * 1_000_000})
    text = answer.reason if isinstance(answer, Declined) else answer.message
    assert text == "x" * messages.LONGEST_TEXT + "…"


BROKEN_LINES = {
    "words": (b"loading the model\n", "is no JSON; stdout is for messages"),
    "nothing": (b"\n", "is no JSON"),
    "no UTF-8": (b'{"type": "\xff"}\n', "is no JSON"),
    "cut off": (b'{"type": "outputs", "seq"\n', "is no JSON"),
    "endless nesting": (b"[" * 100_000 + b"\n", "is no JSON"),
    "a list": (b"[1]\n", "is no message"),
    "no type": (b'{"seq": 1}\n', "is no message"),
    "a type that is no word": (b'{"type": 1}\n', "is no message"),
    "a bare NaN": (b'{"type": "outputs", "data": [NaN]}\n', 'write "nan" as a string'),
    "a bare infinity": (b'{"type": "outputs", "data": [-Infinity]}\n', 'write "-inf" as a string'),
    "a field twice": (b'{"type": "outputs", "seq": 1, "seq": 2}\n', '"seq" is there twice'),
    "the last of many fields twice": (
        b'{"type": "outputs"' + b"".join(b', "%d": 1' % number for number in range(100_000)) + b', "99999": 1}\n',
        '"99999" is there twice',
    ),
    "a number of ten thousand digits": (b'{"type": "outputs", "seq": ' + b"1" * 10_000 + b"}\n", "is no JSON"),
}


@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_line_that_is_no_message_is_reported_in_one_short_sentence(name):
    line, problem = BROKEN_LINES[name]
    with pytest.raises(WireError, match=problem) as error:
        messages.read_message(line)
    assert len(str(error.value)) < 250
    assert "\n" not in str(error.value)


def test_windows_line_ends_are_read():
    assert messages.read_message(b'{"type": "stop"}\r\n') == messages.STOP


SAMPLES = {
    "start_answer": [
        STARTED,
        STARTED
        | {"version": "0.3", "dtypes": ["float32"], "conventions": {"fully_masked_row": "nan"}, "encoding": "base64"},
        STARTED | {"found": {"guessed": "x", "not_graded": ["f"], "unfit": {"a": "b"}, "never_given": {"a": ["b"]}}},
        {"type": "error", "message": "no GPU"},
    ],
    "run_answer": [
        OUTPUTS | {"inputs_changed": ["x"]},
        OUTPUTS | {"outputs": {"output": {"dtype": "float64", "shape": [], "data": "nan"}}},
        OUTPUTS | {"outputs": {"output": {"dtype": "int64", "shape": [1, 0], "data": [[]]}}},
        *({"type": kind, "seq": 7, "message": "no"} for kind in ("unsupported", "rejected", "error", "malformed")),
    ],
}
STRANGERS = [None, True, 7, 7.0, 1.5, -1, 2**70, "", "x", "softmax", [], ["x"], ["softmax"], [1], [[1]], {}, {"x": "y"}]


def changed_everywhere(value, strangers):
    """Every value that differs from this one in one spot: replaced, left out, or with one more field."""
    yield from strangers
    if isinstance(value, dict):
        yield value | {"one more": 1}
        for name, inner in value.items():
            yield {other: item for other, item in value.items() if other != name}
            for changed in changed_everywhere(inner, strangers):
                yield value | {name: changed}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield value[:index] + value[index + 1 :]
            for changed in changed_everywhere(inner, strangers):
                yield [*value[:index], changed, *value[index + 1 :]]


def is_read(message, definition):
    try:
        line = messages.read_message(json.dumps(message).encode())
        if definition == "start_answer":
            messages.read_started(line, "node mine.mjs")
        else:
            read_answer(line)
    except messages.StartRefusedError:
        return True
    except WireError as problem:
        return None if re.search(ABOUT_THE_REQUEST, str(problem)) else False
    return True


ABOUT_THE_REQUEST = (
    r"^the answer has seq (?!true)\d+, but the request had seq 7|softmax has no output|lacks \"output\"|"
    r"does not know; (known are|did you mean)|picked protocol|where \d+ items belong|the data of .* are|"
    r"does not fit|too large|must be a base64 string"
)
"""Beginnings of sentences about what the schema cannot know: the request, the contract, how shape and data fit."""


@pytest.mark.parametrize("definition", SAMPLES)
def test_schema_and_harness_agree_on_every_message_with_one_change(definition):
    agreed = {True: 0, False: 0}
    for sample in SAMPLES[definition]:
        assert is_read(sample, definition)
        assert follows_schema(sample, definition)
        for message in changed_everywhere(sample, STRANGERS):
            read = is_read(message, definition)
            if read is not None:
                assert follows_schema(message, definition) == read, message
                agreed[read] += 1
    assert agreed[True] > 10
    assert agreed[False] > 200
