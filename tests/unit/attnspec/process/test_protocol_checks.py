"""Protocol checks: a program that passes all, and for each check one that fails it, with a sentence."""

import shlex
import sys

import pytest
from softmax_program import MAIN, command_of

from attnspec.base.errors import TargetError
from attnspec.process import protocol_checks
from attnspec.process.protocol_checks import protocol_checks_of

STRICT = MAIN.replace("    request = json.loads(line)\n", "    request = json.loads(line)\n    strict(request)\n")
FAULTS = {
    "another version": (
        "def on_start(request):\n    send({'type': 'started', 'protocol': request['versions'][-1], 'name': 'new', "
        "'operations': ['softmax']})\n",
        MAIN,
        "answers start",
        "picked protocol 1000",
    ),
    "ends at a version that it does not know": (
        "def on_start(request):\n    assert request['versions'] == [1], 'a later harness'\n",
        MAIN,
        "answers start",
        "a later harness",
    ),
    "noise": ("def on_run(request):\n    right_and(request, 'done\\n')\n", MAIN, "says nothing", "done"),
    "no answer before the end of stdin": (
        "def on_run(request):\n    global send\n    send = lambda m: sys.stdout.write(json.dumps(m) + '\\n')\n"
        "    right(request)\n",
        MAIN,
        "answers a request",
        "flush after every answer",
    ),
    "a seq in float32": (
        "import struct\ndef on_run(request):\n"
        "    seq = struct.unpack('f', struct.pack('f', request['seq']))[0]\n    right(request | {'seq': int(seq)})\n",
        MAIN,
        "large seq",
        "has seq 2000000000",
    ),
    "unknown fields": (
        "def strict(request):\n    assert request['type'] != 'run' or 'hint' not in request, 'no hints'\n",
        STRICT,
        "field that it does not know",
        "no hints",
    ),
    "the first field must be the type": (
        "def strict(request):\n    assert next(iter(request)) == 'type', 'no type'\n",
        STRICT,
        "any order",
        "no type",
    ),
    "a buffer of 64 KiB": (
        "",
        MAIN.replace("    request = ", "    line = line[:65536]\n    request = "),
        "million bytes",
        "ended with exit code 1",
    ),
    "an unknown operation taken for its own": (
        "def on_run(request):\n    right(request | {'operation': 'softmax'})\n",
        MAIN,
        "operation that it does not know",
        'by "outputs"',
    ),
    "an unknown operation ends it": (
        "def on_run(request):\n    assert request['operation'] == 'softmax', 'what?'\n    right(request)\n",
        MAIN,
        "operation that it does not know",
        "what?",
    ),
    "empty tensors": (
        "def on_run(request):\n    assert 0 not in request['inputs']['x']['shape'], 'empty'\n    right(request)\n",
        MAIN,
        "without elements",
        "empty",
    ),
    "tensors without axes": (
        "def on_run(request):\n    len(request['inputs']['x']['data'])\n    right(request)\n",
        MAIN,
        "without axes",
        "has no len()",
    ),
    "infinities": ("def number(item): return item * 1.0\n", MAIN, "infinities", "TypeError"),
    "stays after stop": (
        "",
        MAIN.replace("        break", "        continue"),
        "ends at stop",
        "still there 1 second after stop",
    ),
    "stays without stdin": ("def on_stop():\n    time.sleep(600)\n", MAIN, "end of its stdin", "after the end of its"),
    "says goodbye": ("def on_stop():\n    print('goodbye')\n", MAIN, "ends at stop", "goodbye"),
    "another declaration each time": (
        "def on_start(request):\n    send({'type': 'started', 'protocol': 1, 'name': str(os.getpid()), "
        "'operations': ['softmax']})\n",
        MAIN,
        "declares the same",
        "something else than at first",
    ),
}


@pytest.fixture(autouse=True)
def _no_long_silence(monkeypatch):
    monkeypatch.setattr(protocol_checks, "_SECONDS_OF_SILENCE", 0.02)


def faults_of(command):
    tried = [*protocol_checks_of(command, timeout=0.3 if "stdin.py" in command else 60, start_timeout=60)]
    return {protocol_check.name: protocol_check.fault for protocol_check in tried if protocol_check.fault is not None}


def test_a_program_that_passes_all_checks(tmp_path):
    tried = [*protocol_checks_of(command_of(tmp_path), timeout=20, start_timeout=60)]
    assert len(tried) == 13
    assert [protocol_check for protocol_check in tried if protocol_check.fault is not None] == []


def test_an_isolated_target_passes_all_checks():
    assert faults_of(f"{shlex.quote(sys.executable)} -P -m attnspec.process.serving reference") == {}


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_program_lacks_is_said_in_a_sentence(name, tmp_path, monkeypatch):
    code, main, protocol_check, sentence = FAULTS[name]
    if "before the end of stdin" in name:
        monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    found = faults_of(command_of(tmp_path, f"\n{code}", main, "stdin.py" if "stdin" in name else "program.py"))
    reported = [fault for broken, fault in found.items() if protocol_check in broken]
    assert reported, found
    assert sentence in reported[0]


def test_without_an_answer_to_start_nothing_else_is_tried(tmp_path):
    assert list(faults_of(command_of(tmp_path, "\ndef on_start(request): sys.exit('no GPU')\n"))) == [
        "answers start, of whose versions it knows one"
    ]


def test_a_program_that_is_not_there():
    with pytest.raises(TargetError, match="is not installed or not on PATH"):
        faults_of("no-such-program at all")
