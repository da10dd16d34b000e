"""The table of faults: whatever a program does wrong costs its own case, and it leaves no process behind."""

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from softmax_program import CASES, MAIN, command_of

from attnspec.command_line import main

MARK = "ATTNSPEC_TEST_OF_FAULTS"
"""A variable of the environment by which everything that a program starts is known."""


class Fault(NamedTuple):
    """A program with a fault at its third request, the case `rows`, and what comes of it.

    `statuses` has a letter a case in the order of `CASES`: pass, fail, error, unsupported, crash, timeout, malformed.
    """

    code: str
    statuses: str
    says: str
    status: int = 1
    main: str = MAIN


def third(code, statuses, says, **more):
    """A fault at the third request alone; the program does nothing wrong once it was started again."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    return Fault(f"\ndef at_third(request):\n{body}", statuses, says, **more)


def of_answer(answer, says):
    return third(f"send({{'type': 'outputs', 'seq': request['seq']}} | {answer})", "ppmpp", says)


def of_tensor(tensor, says):
    whole = {"dtype": "float64", "shape": [3, 4], "data": [[0.25] * 4] * 3} | tensor
    return of_answer(f"{{'outputs': {{'output': {whole!r}}}}}", says)


SURPLUS = "after its answer, the process wrote"
CHILD = "subprocess.Popen(SLEEPS)\n"
FAULTS = {
    "none": Fault("", "ppppp", "conforms", 0),
    # the end of the program
    "ends": third("sys.exit(0)", "ppcpp", "ended with exit code 0"),
    "ends with words": third("sys.exit('no memory')", "ppcpp", "no memory"),
    "ends with 3": third("os._exit(3)", "ppcpp", "ended with exit code 3"),
    "segfault": third("os.kill(os.getpid(), signal.SIGSEGV)", "ppcpp", "was ended by signal SIGSEGV"),
    "kills itself": third("os.kill(os.getpid(), signal.SIGKILL)", "ppcpp", "was ended by signal SIGKILL"),
    "kills its group": third("os.killpg(0, signal.SIGKILL)", "ppcpp", "was ended by signal SIGKILL"),
    "ends while a child keeps its stdout": third(CHILD + "os._exit(3)", "ppcpp", "ended with exit code 3"),
    "ends within a line": third("os.write(1, b'{\"type\"')\nos._exit(0)", "ppcpp", "ended with exit code 0"),
    "closes its stdout": third("os.close(1)\ntime.sleep(600)", "ppcpp", "closed its stdout but kept running"),
    "ends after its answer": third("right(request)\nos._exit(0)", "pppcp", "ended with exit code 0"),
    # no answer
    "hangs": third("time.sleep(600)", "pptpp", "gave no answer within 1 seconds"),
    "hangs with a child": third(CHILD + "time.sleep(600)", "pptpp", "gave no answer within 1 seconds"),
    "hangs and ignores signals": third(
        "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\ntime.sleep(600)", "pptpp", "gave no answer"
    ),
    "hangs within a line": third("os.write(1, b'{')\ntime.sleep(600)", "pptpp", "gave no answer"),
    "stops itself": third("os.kill(os.getpid(), signal.SIGSTOP)", "pptpp", "gave no answer"),
    "does not flush": third("sys.stdout.write('{}')\ntime.sleep(600)", "pptpp", "gave no answer"),
    "spins": third("while True: pass", "pptpp", "gave no answer"),
    "floods stderr": third("while True: os.write(2, b'word ' * 1000)", "pptpp", "gave no answer"),
    "closes its stdin": third("os.close(0)\nright(request)\ntime.sleep(600)", "ppptp", "gave no answer"),
    # surplus
    "noise after the answer": third("right_and(request, 'loss: 0.3\\n')", "ppmpp", SURPLUS),
    "a blank line after the answer": third("right_and(request, '\\n')", "ppmpp", SURPLUS),
    "the answer twice": third(
        "right_and(request, json.dumps({'type': 'outputs', 'seq': request['seq']}) + '\\n')", "ppmpp", SURPLUS
    ),
    "half a line after the answer": third("right_and(request, 'loss')", "ppmpp", SURPLUS),
    "a flood after the answer": third(
        "right_and(request, '[')\nwhile True: os.write(1, b'[' * 4096)", "ppmpp", SURPLUS
    ),
    "noise after the last answer": Fault(
        "\ndef on_run(request): right_and(request, 'done\\n' if request['seq'] > 9 else '')\n",
        "mpppp",
        f"after other cases had run: {SURPLUS}",
    ),
    "noise at the end": Fault("\ndef on_stop(): print('goodbye', flush=True)\n", "mpppp", r'wrote "goodbye'),
    "noise before the answer": third("print('loss: 0.3', flush=True)\nright(request)", "ppmpp", "is no JSON"),
    "an earlier answer before the answer": third("right(request | {'seq': 2})\nright(request)", "pmppp", r"\"seq\": 2"),
    # lines
    "no JSON": third("print('{', flush=True)", "ppmpp", "is no JSON"),
    "bytes": third("os.write(1, bytes([255, 10]))", "ppmpp", "is no JSON"),
    "a list": third("print('[]', flush=True)", "ppmpp", "is no message"),
    "a bare NaN": third("print('{\"type\": NaN}', flush=True)", "ppmpp", "NaN is no JSON"),
    "a field twice": third('print(\'{"type": "outputs", "type": 1}\', flush=True)', "ppmpp", "is there twice"),
    "a deep line": third("print('[' * 100000, flush=True)", "ppmpp", "is no JSON"),
    "forty thousand fields, one of them twice": third(
        "print('{' + ','.join(f'\"{n:01000}\": 1' for n in [*range(40000), 39999]) + '}', flush=True)",
        "ppmpp",
        "is there twice",
    ),
    "a number of a million digits": third(
        "print('{\"type\": ' + '1' * 1000000 + '}', flush=True)", "ppmpp", "is no JSON"
    ),
    "a line beyond the limit": third("while True: os.write(1, b'[' * 65536)", "ppmpp", "longer than 67108864 bytes"),
    "a message of 8 MB": third(
        "send({'type': 'error', 'seq': request['seq'], 'message': 'x' * 8000000})", "ppepp", "xxx"
    ),
    # answers
    "another seq": third("right(request | {'seq': 99})", "ppmpp", "has seq 99"),
    "no seq": third("send({'type': 'rejected', 'message': 'no'})", "ppmpp", 'no field "seq"'),
    "a seq with a point": third("right(request | {'seq': float(request['seq'])})", "ppppp", "conforms", status=0),
    "an unknown type": of_answer("{'type': 'output'}", "unknown type"),
    "an unknown field": of_answer("{'outputs': {}, 'seconds': 1}", 'a field "seconds"'),
    "no output": of_answer("{'outputs': {}}", 'lacks "output"'),
    "an unknown output": of_answer("{'outputs': {'shares': 1}}", 'no output "shares"'),
    "declines": third(
        "send({'type': 'unsupported', 'seq': request['seq'], 'message': 'no'})", "ppupp", "conforms", status=0
    ),
    "refuses": third("send({'type': 'rejected', 'seq': request['seq'], 'message': 'no'})", "ppepp", "no"),
    # tensors
    "an unknown dtype": of_tensor({"dtype": "float8"}, "dtype must be one of"),
    "another shape": of_tensor({"shape": [4, 3]}, "nested as shape [4, 3] says"),
    "an absurd shape": of_tensor({"shape": [2**62, 0]}, "too large"),
    "a ragged list": of_tensor({"data": [[0.25] * 4] * 2 + [[0.25]]}, "4 items belong"),
    "words": of_tensor({"data": [["0.25"] * 4] * 3}, 'not "0.25"'),
    "numbers beyond every float": third(
        "answer(request, [[10**400] * 4] * 3)", "ppmpp", "a number does not fit float64"
    ),
    "wrong numbers": third("answer(request, [[0.25] * 4] * 3)", "ppfpp", "does not conform"),
    # processes
    "a child that stays": third(CHILD + "right(request)", "ppppp", "conforms", status=0),
    "stays after stop": Fault("\ndef on_stop(): time.sleep(600)\n", "ppppp", "conforms", 0),
    "stays after stop, with a child": Fault(
        "\ndef on_stop():\n    subprocess.Popen(SLEEPS)\n    time.sleep(600)\n", "ppppp", "conforms", 0
    ),
    # the start
    "hangs at the start": Fault("\ndef on_start(request): time.sleep(600)\n", "", "--start-timeout gives it", 2),
    "ends at the start": Fault("\ndef on_start(request): sys.exit('no GPU')\n", "", "no GPU", 2),
    "talks at the start": Fault("\nprint('Welcome!', flush=True)\n", "", "is no JSON", 2),
    "cannot start": Fault(
        "\ndef on_start(request): send({'type': 'error', 'message': 'no GPU'})\n", "", "cannot start: no GPU", 2
    ),
    "never comes back": Fault(
        "\nif not FIRST: sys.exit('gone')\ndef at_third(request): os._exit(1)\n", "ppccc", "did not come back"
    ),
}
LIKE_OTHERS = {
    "hangs",
    "hangs and ignores signals",
    "hangs within a line",
    "stops itself",
    "does not flush",
    "closes its stdin",
    "ends with 3",
    "kills itself",
    "a blank line after the answer",
    "half a line after the answer",
    "a list",
    "bytes",
    "a number of a million digits",
    "forty thousand fields, one of them twice",
    "stays after stop",
}
"""Faults whose like is tried anyway and which take longer; they are a proof."""
LETTERS = {"p": "pass", "f": "fail", "e": "error", "u": "unsupported", "c": "crash", "t": "timeout", "m": "malformed"}


@pytest.mark.skipif(os.name != "posix", reason="signals and process groups are POSIX")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.proof if name in LIKE_OTHERS else ()) for name in FAULTS]
)
def test_a_fault_costs_its_case_alone_and_leaves_no_process(name, tmp_path, monkeypatch, capsys):
    fault = FAULTS[name]
    monkeypatch.setenv(MARK, str(tmp_path))
    report = tmp_path / "report.json"
    limits = ("--timeout", "1" if "t" in fault.statuses else "60")
    limits += ("--start-timeout", "1" if name == "hangs at the start" else "60")
    options = ("--select", "documents/001/softmax_of_*", "--report", str(report))
    status = main(["validate", "--command", command_of(tmp_path, fault.code, fault.main), *limits, *options])
    out, err = capsys.readouterr()
    assert status == fault.status
    assert "Traceback (most recent call last)\n" not in err
    statuses = statuses_of(report) if report.exists() else {}
    assert statuses == dict(zip(CASES, (LETTERS[letter] for letter in fault.statuses), strict=False))
    said = " ".join((out + err + (report.read_text("utf-8") if report.exists() else "")).split())
    assert fault.says in said or json.dumps(fault.says)[1:-1] in said
    assert not left_with(str(tmp_path))


def statuses_of(report):
    document = json.loads(report.read_text("utf-8"))
    assert all(len(result["message"] or "") < 70_000 for result in document["results"])
    return {
        result["case"].removeprefix("documents/001/softmax_of_"): result["status"] for result in document["results"]
    }


def left_with(mark):
    """Return the processes that have the mark in their environment, once those had a moment that were just killed."""
    for _ in range(250):
        left = [process for process in Path("/proc").glob("[0-9]*") if is_alive(process, mark)]
        if not left:
            return []
        time.sleep(0.02)
    return left


def is_alive(process, mark):
    try:
        if process.name == str(os.getpid()) or f"{MARK}={mark}".encode() not in (process / "environ").read_bytes():
            return False
        return (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
