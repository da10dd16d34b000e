"""A Python target in a process of its own: the same answers, and a crash or a hang costs one request only."""

import contextlib

import ml_dtypes
import numpy as np
import pytest

from attnspec.base.errors import ProtocolError
from attnspec.contract.implementation import Crashed, Declined, Malformed, Outputs, Raised, Request, TimedOut
from attnspec.process.process import isolated
from attnspec.runner.memory_order import MEMORY_ORDERS, in_memory_order
from attnspec.targets.loading import load
from attnspec.targets.target import Target

TARGET = """
import os, subprocess, sys, time
import numpy as np
from attnspec.base.errors import Unsupported

print("imported")
os.write(1, b"imported\\n")
name, version, dtypes = "target", "2.1", ("float64", "float32", "float16", "bfloat16")
conventions = {"fully_masked_row": "nan"}

def softmax(x, axis=-1):
    print("printing")
    os.write(1, b"from below\\n")
    subprocess.run(["echo", "from a child"])
    return x

def split_heads(x, num_heads):
    match num_heads:
        case 1: raise ValueError("no heads")
        case 2: raise Unsupported("two heads")
        case 3: return None
        case 4: return x.astype(np.int32)
        case 5: os._exit(9)
        case 6: time.sleep(60)
        case 7: return sys.stdin.read()
    x[:] = 0
    return x
"""


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target.py"
    path.write_text(TARGET, "utf-8")
    return str(path)


@pytest.fixture
def implementation(target):
    with contextlib.closing(isolated(Target(target))) as implementation:
        yield implementation


def split(num_heads):
    return Request("split_heads", "float64", {"x": np.ones((1, 2, 4))}, {"num_heads": num_heads})


def test_it_declares_what_the_target_declares(implementation, target):
    assert implementation.declaration == load(target).declaration


def test_it_says_what_was_found_of_the_target(tmp_path):
    path = tmp_path / "homework.py"
    path.write_text(
        "def softmax(z, dim=0): return z\ndef merge_states(nothing): return nothing\ndef helper(): return 1\n"
    )
    here = load(str(path)).declaration
    assert here.guessed
    assert here.not_graded == ("helper",)
    with contextlib.closing(isolated(Target(str(path)))) as implementation:
        assert implementation.declaration == here


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ml_dtypes.bfloat16])
def test_every_dtype_passes_unchanged_and_prints_do_not_disturb(implementation, dtype):
    x = np.array([[0.1, -0.0, np.inf], [np.nan, 1e-3, -np.inf]], dtype)
    answer = implementation.run(Request("softmax", x.dtype.name, {"x": x}, {"axis": None}))
    assert isinstance(answer, Outputs)
    assert answer.values["output"].dtype == x.dtype
    assert answer.values["output"].tobytes() == x.tobytes()
    assert answer.inputs_changed == ()


def test_prints_go_to_stderr(target, capfd):
    with contextlib.closing(isolated(Target(target, show_stderr=True))) as implementation:
        implementation.run(Request("softmax", "float64", {"x": np.ones(1)}, {}))
    shown = capfd.readouterr().err
    for words in ("imported", "printing", "from below", "from a child"):
        assert words in shown


def test_answers_are_those_of_the_target_in_process(implementation, target):
    in_process = load(target)
    for num_heads, kind in ((1, Raised), (2, Declined), (3, Malformed)):
        assert type(implementation.run(split(num_heads))) is kind
        assert implementation.run(split(num_heads)) == in_process.run(split(num_heads))


def test_a_wrong_dtype_is_left_to_the_harness(implementation):
    answer = implementation.run(split(4))
    assert isinstance(answer, Outputs)
    assert answer.values["output"].dtype == np.int64


def test_inputs_that_the_target_changed_are_named(implementation):
    answer = implementation.run(split(8))
    assert isinstance(answer, Outputs)
    assert answer.inputs_changed == ("x",)


def test_the_target_cannot_read_the_protocol(implementation):
    assert isinstance(implementation.run(split(7)), Malformed)
    assert isinstance(implementation.run(split(8)), Outputs)


@pytest.mark.parametrize(("num_heads", "kind"), [(5, Crashed), (6, TimedOut)])
def test_a_crash_or_a_hang_costs_one_request(target, num_heads, kind):
    with contextlib.closing(isolated(Target(target, timeout=1.0))) as implementation:
        assert isinstance(implementation.run(split(num_heads)), kind)
        assert isinstance(implementation.run(split(8)), Outputs)


def test_inputs_lie_in_memory_as_in_process(tmp_path):
    path = tmp_path / "strides.py"
    strides = "[*x.strides, x.flags.writeable, x[-1, 0, -1, 0]]"
    path.write_text(f"import numpy as np\n\ndef softmax(x, axis=-1):\n    return np.array({strides})\n", "utf-8")
    with contextlib.closing(isolated(Target(str(path)))) as implementation:
        for order in MEMORY_ORDERS:
            x = in_memory_order(np.arange(120.0).reshape(2, 3, 4, 5), order)
            answer = implementation.run(Request("softmax", "float64", {"x": x}, {}))
            assert isinstance(answer, Outputs)
            (got,) = answer.values.values()
            assert [*got] == [*x.strides, x.flags.writeable, x[-1, 0, -1, 0]], order


def test_a_bare_function_with_names_of_its_own(tmp_path):
    path = tmp_path / "functions.py"
    path.write_text("def attend(Q, K, value):\n    return Q + K + value\n", "utf-8")
    target = Target(f"{path}:attend", operation="scaled_dot_product_attention", renames={"Q": "query", "K": "key"})
    inputs = {name: np.ones((1, 1, 1, 1)) for name in ("query", "key", "value")}
    with contextlib.closing(isolated(target)) as implementation:
        answer = implementation.run(Request("scaled_dot_product_attention", "float64", inputs, {}))
    assert isinstance(answer, Outputs)
    assert answer.values["output"].item() == 3


def test_a_target_that_cannot_be_loaded_is_reported_in_its_own_words():
    with pytest.raises(ProtocolError, match=r"There is no file 'missing\.py'"):
        isolated(Target("missing.py"))
