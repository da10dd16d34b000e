"""The process adapter: whatever a program does wrong costs one request its answer, and never hangs the harness."""

import contextlib
import json
import os
import shlex
import sys
import threading
import time
import weakref
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from attnspec.base.errors import ProtocolError, TargetError, UsageError
from attnspec.contract.implementation import Crashed, Declined, Malformed, Outputs, Raised, Request, TimedOut
from attnspec.process import line_process, pipes, process
from attnspec.process.line_process import LINE_LIMIT
from attnspec.process.process import ProcessImplementation
from attnspec.targets.target import Target

SPEC = Path(__file__).parents[4] / "spec"

PROGRAM = """
import json, os, pathlib, sys, time
starts = pathlib.Path(__file__).with_suffix(".starts")
starts.write_text((starts.read_text() if starts.exists() else "") + "+")
STARTS = len(starts.read_text())

def send(message):
    print(json.dumps(message), flush=True)

def start(**more):
    send({"type": "started", "protocol": 1, "name": "test", "operations": ["softmax"]} | more)

def answer(request, **more):
    send({"type": "outputs", "seq": request["seq"], "outputs": {"output": request["inputs"]["x"]}} | more)

def on_start(request):
    start()

def on_run(request):
    answer(request)

"""

LOOP = """
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "stop":
        break
    (on_start if request["type"] == "start" else on_run)(request)
"""

FIRST_RUN_ONLY = "\ndef on_run(request):\n    if request['seq'] > 1:\n        return answer(request)\n    "


@pytest.fixture
def program(tmp_path):
    """Give the command of a program that echoes its input x as output, with some of its code replaced."""

    def write(code="", loop=LOOP):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM + code + loop, "utf-8")
        return shlex.join([sys.executable, "-S", str(path)])

    return write


WAYS = {"polled": pipes.PolledPipes, "threaded": pipes.ThreadedPipes} if os.name == "posix" else {}
either_way = pytest.mark.parametrize("started", WAYS or ["of this system"], indirect=True)


@pytest.fixture
def started(program, request, monkeypatch):
    """Start such a program; it is closed with the test, and no thread of it may stay behind."""
    monkeypatch.setattr(line_process, "pipes_of", WAYS.get(getattr(request, "param", None), pipes.pipes_of))
    before = set(threading.enumerate())
    with contextlib.ExitStack() as stack:

        def start(code="", loop=LOOP, line_limit=LINE_LIMIT, **how):
            implementation = ProcessImplementation(program(code, loop), Target(**how), line_limit=line_limit)
            stack.callback(implementation.close)
            return implementation

        yield start
    assert set(threading.enumerate()) <= before


def softmax(*numbers, heard=None):
    x = np.array(numbers, dtype=np.float64)
    return Request("softmax", "float64", {"x": x}, {}, None if heard is None else heard.append)


def values(answer):
    assert isinstance(answer, Outputs), answer
    return answer.values["output"].tolist()


def test_a_program_that_keeps_to_the_protocol(started):
    implementation = started()
    assert implementation.declaration.operations == ("softmax",)
    assert implementation.declaration.adapter.startswith(sys.executable)
    assert values(implementation.run(softmax(1, 2, np.inf))) == [1, 2, np.inf]
    assert values(implementation.run(softmax(3))) == [3]


@pytest.mark.skipif(os.name != "posix", reason="a thread keeps the last line that it wrote")
def test_no_array_and_no_line_of_a_call_stays_in_memory(started, monkeypatch):
    implementation, lines = started(), []
    send = line_process.LineProcess.send
    monkeypatch.setattr(line_process.LineProcess, "send", lambda self, line: (lines.append(line), send(self, line)))
    request = softmax(*range(20_000))
    array = weakref.ref(request.inputs["x"])
    assert len(values(implementation.run(request))) == 20_000
    del request
    assert array() is None
    (line,) = lines
    lines.clear()
    # This name of it, and the argument.
    assert sys.getrefcount(line) == 2


def test_an_operation_that_was_not_declared_is_not_requested(started):
    answer = started().run(Request("combine_heads", "float64", {"x": np.zeros((1, 1, 1, 1))}, {}))
    assert answer == Declined("test does not offer combine_heads")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("unsupported", Declined("no")),
        ("rejected", Raised("no")),
        ("error", Raised("no")),
        ("malformed", Malformed("no")),
    ],
)
def test_answers_in_words(started, kind, expected):
    code = f"def on_run(request): send({{'type': {kind!r}, 'seq': request['seq'], 'message': 'no'}})\n"
    assert started(code).run(softmax(1)) == expected


def test_inputs_changed_are_handed_on(started):
    answer = started("\ndef on_run(request): answer(request, inputs_changed=['x'])\n").run(softmax(1))
    assert isinstance(answer, Outputs)
    assert answer.inputs_changed == ("x",)


OUT_OF_STEP = {
    "exit": ("sys.exit(3)", Crashed, "ended with exit code 3"),
    "exit with words": ("sys.exit('out of memory')", Crashed, "exit code 1; last on its stderr:\n    out of memory"),
    "uncaught": ("raise KeyError('seven')", Crashed, "KeyError: 'seven'"),
    "signal": ("os.kill(os.getpid(), 11)", Crashed, "was ended by signal SIGSEGV"),
    "half a line": ('os.write(1, b\'{"type": "outputs", \'); os._exit(0)', Crashed, "ended with exit code 0"),
    "closed stdout": ("os.close(1); time.sleep(60)", Crashed, "closed its stdout but kept running"),
    "hang": ("time.sleep(60)", TimedOut, "gave no answer within 0.5 seconds"),
    "hang in a line": ("os.write(1, b'{\"type\": '); time.sleep(60)", TimedOut, "gave no answer within 0.5 seconds"),
    "garbage": ("print('loss: 0.3', flush=True)", Malformed, 'the line "loss: 0.3" is no JSON'),
    "binary": ("os.write(1, bytes([255, 0, 10]))", Malformed, "is no JSON"),
    "wrong seq": ("answer(request, seq=99)", Malformed, "has seq 99, but the request had seq 1"),
    "no seq": ("send({'type': 'rejected', 'message': 'no'})", Malformed, 'has no field "seq"'),
    "oversized": ("os.write(1, b'[' * 30_000 + b'\\n')", Malformed, "wrote a line longer than 20000 bytes"),
    "endless": ("while True: os.write(1, b'[' * 4096)", Malformed, "wrote a line longer than 20000 bytes"),
    "flood": ("while True: os.write(1, b'{}\\n' * 1000)", Malformed, "is no message"),
}


@either_way
@pytest.mark.parametrize("name", OUT_OF_STEP)
def test_a_program_that_falls_out_of_step_is_restarted(started, tmp_path, name):
    line, kind, message = OUT_OF_STEP[name]
    # A short time only where it must run out, so that a busy machine changes no verdict.
    timeout = 0.5 if kind is TimedOut else 20
    implementation = started(FIRST_RUN_ONLY + line + "\n", timeout=timeout, line_limit=20_000)
    answer = implementation.run(softmax(1))
    assert type(answer) is kind
    assert message in answer.message
    assert values(implementation.run(softmax(2))) == [2]
    assert (tmp_path / "program.starts").read_text() == "++"


OUT_OF_RULES = {
    "unknown type": ("send({'type': 'output', 'seq': 1})", "unknown type"),
    "unknown output": ("answer(request, outputs={'result': request['inputs']['x']})", 'no output "result"'),
    "no output": ("answer(request, outputs={})", 'lacks "output"'),
    "broken tensor": (
        "answer(request, outputs={'output': {'dtype': 'float64', 'shape': [2], 'data': [1]}})",
        "it has [1] where 2 items belong",
    ),
}


@pytest.mark.parametrize("name", OUT_OF_RULES)
def test_a_program_that_breaks_a_rule_in_step_is_kept(started, tmp_path, name):
    line, message = OUT_OF_RULES[name]
    implementation = started(FIRST_RUN_ONLY + line + "\n")
    answer = implementation.run(softmax(1))
    assert isinstance(answer, Malformed)
    assert message in answer.message
    assert values(implementation.run(softmax(2))) == [2]
    assert (tmp_path / "program.starts").read_text() == "+"


SURPLUS = {
    "noise": ("print('loss: 0.3', flush=True)", 'wrote "loss: 0.3'),
    "a blank line": ("print(flush=True)", r'wrote "\n" on its stdout'),
    "a second answer": ("answer(request)", r'wrote "{\"type\": \"outputs\"'),
    "half a line": ("print('loss', end='', flush=True)", 'wrote "loss" on its stdout'),
    "more than a pipe holds": ("sys.stdout.write('[' * 300_000); sys.stdout.flush()", 'wrote "[[['),
}


def answered_and_more(started, more, heard):
    """A program that has answered seq 1 and said more, as far as the pipe takes it."""
    code = "\ndef on_run(request):\n    answer(request)\n    if request['seq'] == 1:\n        " + more + "\n"
    implementation = started(code + "    starts.with_suffix('.said').touch()\n")
    assert values(implementation.run(softmax(1, heard=heard))) == [1]
    assert not heard
    return implementation


@either_way
@pytest.mark.parametrize("name", SURPLUS)
def test_what_follows_an_answer_is_reported_of_that_answer(started, tmp_path, name):
    more, sentence = SURPLUS[name]
    heard = []
    implementation = answered_and_more(started, more, heard)
    # What fills the pipe is not all said; and a thread that reads needs a moment, too.
    assert name == "more than a pipe holds" or appears(tmp_path / "program.said")
    time.sleep(0.5)
    assert values(implementation.run(softmax(2, heard=["of another"]))) == [2]
    assert [reported.startswith("after its answer, the process") for reported in heard] == [True]
    assert sentence in heard[0]
    assert values(implementation.run(softmax(3))) == [3]
    implementation.finish()
    assert len(heard) == 1


@either_way
@pytest.mark.parametrize("name", SURPLUS)
def test_what_follows_the_last_answer_is_found_when_nothing_more_is_requested(started, name):
    more, sentence = SURPLUS[name]
    heard = []
    answered_and_more(started, more, heard).finish()
    assert [sentence in reported for reported in heard] == [True]


def test_an_answer_with_an_earlier_seq_belongs_to_the_answer_that_it_follows(started):
    code = "\ndef on_run(request):\n    if request['seq'] == 2:\n        answer(request, seq=1)\n    answer(request)\n"
    implementation = started(code)
    first, second = [], []
    assert values(implementation.run(softmax(1, heard=first))) == [1]
    assert values(implementation.run(softmax(2, heard=second))) == [2]
    implementation.finish()
    assert ['\\"seq\\": 1' in reported for reported in first] == [True]
    assert not second


def test_what_follows_the_answer_to_start_costs_the_first_request(started, tmp_path):
    code = "\ndef on_start(request):\n    start()\n    print('ready', flush=True)\n"
    implementation = started(code + "    starts.with_suffix('.said').touch()\n")
    assert appears(tmp_path / "program.said")
    answer = implementation.run(softmax(1))
    assert isinstance(answer, Malformed)
    assert 'after its answer to start, the process wrote "ready' in answer.message


def appears(path):
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.exists()


@pytest.mark.skipif(os.name != "posix", reason="stdout is inherited by a child")
def test_a_program_is_dead_though_a_child_of_its_keeps_its_stdout_open(started):
    code = "import subprocess\ndef on_run(request):\n"
    code += "    subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n    os._exit(3)\n"
    answer = started("\n" + code, timeout=40).run(softmax(1))
    assert isinstance(answer, Crashed)
    assert "ended with exit code 3" in answer.message


def test_failed_restarts_cost_their_requests_and_the_run_goes_on(started):
    code = "\nif STARTS % 2 == 0: sys.exit('still warming up')\n"
    code += "def on_run(request):\n    if STARTS < 9: sys.exit(1)\n    answer(request)\n"
    implementation = started(code)
    for _ in range(4):
        assert "ended with exit code 1" in implementation.run(softmax(1)).message
        answer = implementation.run(softmax(2))
        assert isinstance(answer, Crashed)
        assert "did not come back" in answer.message
        assert "still warming up" in answer.message
    assert values(implementation.run(softmax(3))) == [3]


def test_a_program_that_never_comes_back_is_given_up(started, tmp_path):
    implementation = started("\nif STARTS > 1: sys.exit(1)\ndef on_run(request): sys.exit(1)\n")
    answers = [implementation.run(softmax(1)) for _ in range(6)]
    assert all(isinstance(answer, Crashed) for answer in answers)
    assert "was given up" in answers[-1].message
    assert (tmp_path / "program.starts").read_text() == "+" * (1 + process.RESTARTS_TRIED)


CANNOT_START = {
    "ends at once": ("sys.exit('no GPU')", "exit code 1; last on its stderr:\n    no GPU"),
    "ends quietly": ("sys.exit(0)", "it ended with exit code 0"),
    "hangs": ("time.sleep(60)", "within 0.5 seconds; --start-timeout gives it longer"),
    "talks": ("print('Welcome!', flush=True)", 'the line "Welcome!" is no JSON'),
    "newer version": ("def on_start(request): start(protocol=2)", "picked protocol 2, but this harness speaks 1"),
    "no version in common": (
        "def on_start(request): send({'type': 'error', 'message': f'not {request[\"versions\"]} but 2'})",
        "cannot start: not [1] but 2",
    ),
    "unknown operation": ("def on_start(request): start(operations=['sofmax'])", "did you mean softmax"),
    "endless": ("os.write(1, b'x' * 30_000)", "wrote a line longer than 20000 bytes"),
}


@either_way
@pytest.mark.parametrize("name", CANNOT_START)
def test_no_agreement_at_the_start(started, name):
    code, message = CANNOT_START[name]
    with pytest.raises(ProtocolError) as error:
        started(f"\n{code}\n", start_timeout=0.5 if name == "hangs" else 20, line_limit=20_000)
    assert message in str(error.value)
    assert "program.py" in str(error.value)


def test_an_unknown_convention_is_refused_at_the_start(started):
    with pytest.raises(UsageError, match="unknown convention 'empty_row'"):
        started("\ndef on_start(request): start(conventions={'empty_row': 'nan'})\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program attention.mjs", "no-such-program is not installed or not on PATH"),
        ("./no/such/program", "there is no program ./no/such/program"),
        ("node 'attention.mjs", "No closing quotation"),
        ("  ", "is empty"),
        ([], "is empty"),
        ("nul\0byte", "cannot be started"),
    ],
)
def test_a_command_that_cannot_be_run(command, message):
    with pytest.raises(TargetError, match=message) as error:
        ProcessImplementation(command)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(os.name != "posix", reason="file modes and first lines are POSIX")
def test_a_file_that_is_no_program(tmp_path):
    path = tmp_path / "program"
    path.write_text("#!/no/such/interpreter\n", "utf-8")
    path.chmod(0o644)
    with pytest.raises(TargetError, match="not executable"):
        ProcessImplementation(str(path))
    path.chmod(0o755)
    with pytest.raises(TargetError, match="names an interpreter in its first line that is not installed"):
        ProcessImplementation(str(path))


def test_stderr_is_never_judged_and_shown_on_request_only(started, capfd):
    code = "\ndef on_run(request):\n    print('Error: warming up', file=sys.stderr)\n    answer(request)\n"
    for show, shown in ((False, ""), (True, "Error: warming up\n")):
        implementation = started(code, show_stderr=show)
        assert values(implementation.run(softmax(1))) == [1]
        implementation.close()
        assert capfd.readouterr().err == shown


@either_way
def test_large_messages_both_ways_with_a_chatty_stderr(started):
    code = "\nsys.stderr.write('x' * 3_000_000)\ndef on_run(request):\n"
    code += "    sys.stderr.write('word\\n' * 100_000)\n    answer(request)\n    sys.stderr.write('word' * 500_000)\n"
    numbers = np.arange(80_000) / 7
    implementation = started(code)
    for _ in range(2):
        assert values(implementation.run(softmax(*numbers))) == numbers.tolist()


@either_way
def test_a_program_that_does_not_read_is_timed_out(started):
    implementation = started(loop="on_start(sys.stdin.readline())\ntime.sleep(60)\n", timeout=0.3)
    begin = time.monotonic()
    assert isinstance(implementation.run(softmax(*range(500_000))), TimedOut)
    assert time.monotonic() - begin < 30  # the program itself takes 60


@either_way
def test_close_lets_the_program_end_by_itself(started, tmp_path):
    loop = LOOP + "starts.with_suffix('.end').write_text(request['type'])\n"
    implementation = started(loop=loop)
    implementation.close()
    implementation.close()
    assert (tmp_path / "program.end").read_text() == "stop"


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_close_ends_a_program_that_stays_and_what_it_started(started, tmp_path):
    code = "import subprocess\nchild = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
    code += "starts.with_suffix('.pids').write_text(f'{os.getpid()} {child.pid}')\n"
    implementation = started("\n" + code, LOOP + "time.sleep(60)\n")
    implementation.close()
    program, child = map(int, (tmp_path / "program.pids").read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)
    assert is_gone(child)


def is_gone(pid):
    """A grandchild becomes a child of process 1, which may take a moment to collect it, or never does."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        time.sleep(0.02)
    return False


def test_a_real_exchange_follows_the_schema_and_sends_no_expected_values(started, monkeypatch):
    lines = []
    for name in ("write_message", "read_message"):
        monkeypatch.setattr(process, name, recording(getattr(process, name), lines))
    code = "\nKINDS = [None, 'unsupported', 'rejected', 'error', 'malformed']\ndef on_run(request):\n"
    code += "    kind = KINDS[request['seq'] - 1]\n    if kind is None: return answer(request)\n"
    code += "    send({'type': kind, 'seq': request['seq'], 'message': 'no'})\n"
    implementation = started(code)
    for _ in range(5):
        implementation.run(softmax(0.1, np.nan, -np.inf))
    implementation.close()
    schema = json.loads((SPEC / "schemas" / "protocol.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for message in lines:
        validator.validate(message)
    kinds = [message["type"] for message in lines]
    answers = ["outputs", "unsupported", "rejected", "error", "malformed"]
    assert kinds == ["start", "started", *(kind for answer in answers for kind in ("run", answer)), "stop"]
    fields = {"type", "seq", "operation", "dtype", "inputs", "attributes"}
    assert all(set(message) == fields for message in lines if message["type"] == "run")


def recording(function, lines):
    def record(message):
        result = function(message)
        lines.append(json.loads(message if isinstance(message, bytes) else result))
        return result

    return record


def test_the_program_on_the_page_works(tmp_path):
    page = (SPEC / "protocol.md").read_text("utf-8")
    begin = page.index("    import json, math, sys\n")
    end = page.index("\n\nFlush after every answer")
    path = tmp_path / "page.py"
    path.write_text("\n".join(line.removeprefix("    ") for line in page[begin:end].splitlines()), "utf-8")
    with contextlib.closing(ProcessImplementation([sys.executable, str(path)])) as implementation:
        assert values(implementation.run(softmax(2, 2))) == [0.5, 0.5]
        matrix = Request("softmax", "float64", {"x": np.eye(2)}, {"axis": 0})
        assert implementation.run(matrix) == Declined("only vectors")


def test_the_conversation_on_the_page_follows_the_schema():
    page = (SPEC / "protocol.md").read_text("utf-8")
    section = page[page.index("## A conversation") : page.index("A whole program")]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    messages = json.loads("[" + "".join(f",{line[1:]}" if line[0] in "<>" else line for line in lines)[1:] + "]")
    schema = json.loads((SPEC / "schemas" / "protocol.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert [message["type"] for message in messages] == [
        "start",
        "started",
        "run",
        "outputs",
        "run",
        "unsupported",
        "stop",
    ]
    for message in messages:
        validator.validate(message)
