"""Whatever an implementation does to its process: exit status, sentence, report, the other verdicts, nothing left."""

from typing import NamedTuple

import pytest

CASES = ("columns", "queries", "rows", "scores", "whole_array")
"""The cases that are run, in their order; the second pass runs them backwards, as calls 6 to 10."""


class Accident(NamedTuple):
    """What an adapter does, and what must come of it.

    Statuses are given by their first letters, in the order of the cases; without any there is no report.
    """

    source: str
    status: int
    says: str
    statuses: str = ""
    call: int = 3


def at_a_call(code: str, status: int, says: str, statuses: str, call: int = 3) -> Accident:
    body = "\n".join(f"    {line}" for line in code.splitlines())
    return Accident(f"\ndef accident(x):\n{body}\n", status, says, statuses, call)


def died(code: str, how: str) -> Accident:
    """Die at the third case: two have passed, two are left."""
    return at_a_call(code, 1, f"it ended its process {how}", "ppc")


WRONG = "\ndef accident(x):\n    return x + 1\n"

ACCIDENTS = {
    # at import
    "import: os._exit(0)": Accident("os._exit(0)", 2, "ended its process with exit status 0 while it was imported"),
    "import: os._exit(3)": Accident("os._exit(3)", 2, "ended its process with exit status 3 while it was imported"),
    "import: segfault": Accident("ctypes.string_at(0)", 2, "ended its process by signal SIGSEGV while it was imported"),
    "import: sys.exit(0)": Accident("sys.exit(0)", 2, "could not be imported: SystemExit: 0"),
    "import: GeneratorExit": Accident("raise GeneratorExit", 2, "could not be imported: GeneratorExit"),
    "import: a program of its own": Accident("os.execv('/bin/true', ['true'])", 2, "with exit status 0 while it was"),
    "import: a copy that goes on": Accident("os.fork()", 0, "conforms", "ppppp"),
    # at a call: the process is gone
    "call: os._exit(0)": died("os._exit(0)", "with exit status 0"),
    "call: os._exit(3)": died("os._exit(3)", "with exit status 3"),
    "call: os._exit(0) in a thread": died(
        "threading.Thread(target=os._exit, args=(0,)).start()\ntime.sleep(60)", "with exit status 0"
    ),
    "call: another program": died("os.execv('/bin/true', ['true'])", "with exit status 0"),
    "call: SIGKILL": died("os.kill(os.getpid(), signal.SIGKILL)", "by signal SIGKILL"),
    "call: SIGTERM": died("os.kill(os.getpid(), signal.SIGTERM)", "by signal SIGTERM"),
    "call: SIGALRM": died("signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(60)", "by signal SIGALRM"),
    "call: abort": died("os.abort()", "by signal SIGABRT"),
    "call: segfault": died("ctypes.string_at(0)", "by signal SIGSEGV"),
    "call: segfault under faulthandler": died("faulthandler.enable()\nctypes.string_at(0)", "by signal SIGSEGV"),
    "call: all files closed, then the end": died("os.closerange(0, 256)\nos._exit(0)", "with exit status 0"),
    "call: a copy goes on, the original dies": died("if os.fork():\n    os._exit(0)", "with exit status 0"),
    "last call of the first pass: os._exit(0)": at_a_call("os._exit(0)", 1, "ended its process", "ppppc", call=5),
    "second pass: os._exit(0)": at_a_call(
        "os._exit(0)", 1, "after other cases had run: it ended its process with exit status 0", "pppcp", call=7
    ),
    "second pass: segfault in the last call": at_a_call(
        "ctypes.string_at(0)", 1, "after other cases had run: it ended its process by signal", "cpppp", call=10
    ),
    # at a call: the process goes on
    "call: sys.exit(0)": at_a_call("sys.exit(0)", 1, "raised SystemExit: 0", "ppepp"),
    "call: sys.exit in a thread": at_a_call(
        "t = threading.Thread(target=sys.exit)\nt.start()\nt.join()", 0, "conforms", "ppppp"
    ),
    "call: GeneratorExit": at_a_call("raise GeneratorExit", 1, "raised GeneratorExit", "ppepp"),
    "call: recursion without end": at_a_call("return accident(x)", 1, "raised RecursionError", "ppepp"),
    "call: a low limit of recursion": at_a_call("sys.setrecursionlimit(60)", 0, "conforms", "ppppp"),
    "call: a copy that goes on": at_a_call("os.fork()", 0, "conforms", "ppppp"),
    "call: stdout closed": at_a_call("sys.stdout.close()", 0, "conforms", "ppppp"),
    "call: stdout and stderr closed": at_a_call("os.close(1)\nos.close(2)", 0, "conforms", "ppppp"),
    "call: stdout taken": at_a_call("sys.stdout = sys.stderr = None", 0, "conforms", "ppppp"),
    "call: all files closed": at_a_call("os.closerange(0, 256)", 0, "conforms", "ppppp"),
    "call: another folder": at_a_call("os.chdir('/')", 0, "conforms", "ppppp"),
    "call: stdin read": at_a_call("assert sys.stdin.read() == ''", 0, "conforms", "ppppp"),
    "call: stdin closed": at_a_call("sys.stdin.close()\nos.close(0)", 0, "conforms", "ppppp"),
    "call: warnings become errors": at_a_call("warnings.simplefilter('error')", 0, "conforms", "ppppp"),
    "call: NumPy raises from now on": at_a_call("np.seterr(all='raise')", 0, "conforms", "ppppp"),
    "call: the clock stands still": at_a_call(
        "time.time = time.monotonic = time.perf_counter = lambda: 0.0", 0, "conforms", "ppppp"
    ),
    "call: the clock is broken": at_a_call("time.perf_counter = time.time = None", 0, "conforms", "ppppp"),
    "call: a daemon thread that stays": at_a_call(
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", 0, "conforms", "ppppp"
    ),
    "call: more output than a pipe holds": at_a_call("print('x' * 300_000, flush=True)", 0, "conforms", "ppppp"),
    "call: more errors than a pipe holds": at_a_call(
        "print('x' * 300_000, file=sys.stderr, flush=True)", 0, "conforms", "ppppp"
    ),
    "call: collecting is switched off": at_a_call("gc.disable()\ngc.set_threshold(0)", 0, "conforms", "ppppp"),
    "call: signals ignored": at_a_call("signal.signal(signal.SIGTERM, signal.SIG_IGN)", 0, "conforms", "ppppp"),
    # at the end
    "end: os._exit(0) after a wrong answer": Accident(
        WRONG + "atexit.register(os._exit, 0)", 1, "does not conform", "ppfpp"
    ),
    "end: os._exit(3) after right ones": Accident("atexit.register(os._exit, 3)", 0, "conforms", "ppppp"),
    "end: a thread that stays": Accident(
        "threading.Thread(target=time.sleep, args=(600,)).start()", 0, "conforms", "ppppp"
    ),
    "interrupts itself": at_a_call("raise KeyboardInterrupt", 130, "attnspec: interrupted", "pp"),
}

NOT_AS_WELL = ("call: stdout closed", "call: stdout and stderr closed", "call: stdout taken", "call: all files closed")
"""Where the guarded process prints by itself, these leave it nothing to print with; the status still says it."""


def assert_contained(ran, accident: Accident) -> None:
    assert ran.status == accident.status, ran.err
    assert accident.says in ran.out + ran.err
    assert "Traceback" not in ran.err
    assert "".join(status[0] for status in ran.statuses.values()) == accident.statuses
    assert list(ran.statuses) == [*CASES[: len(accident.statuses)]]
    assert (ran.report is not None) == bool(accident.statuses)
    assert (ran.out + ran.err).count("conform") + ran.err.count("attnspec: ") == 1
    if ran.report is not None:
        left = len(CASES) - len(accident.statuses)
        ended_early = "c" in accident.statuses or accident.status == 130
        assert ran.report.get("not_run") == (left if ended_early else None)
        assert left == 0 or accident.status == 130 or f"{left} of 5 not run" in ran.out
    assert ran.left == []


IN_MAKE_TEST = {
    "import: os._exit(0)",
    "import: sys.exit(0)",
    "import: a copy that goes on",
    "call: os._exit(0)",
    "call: os._exit(0) in a thread",
    "call: segfault",
    "call: all files closed, then the end",
    "last call of the first pass: os._exit(0)",
    "second pass: os._exit(0)",
    "call: sys.exit(0)",
    "call: GeneratorExit",
    "call: recursion without end",
    "call: a copy that goes on",
    "call: all files closed",
    "call: another folder",
    "call: the clock is broken",
    "call: more output than a pipe holds",
    "call: signals ignored",
    "end: os._exit(0) after a wrong answer",
    "end: a thread that stays",
    "interrupts itself",
}
"""Some of each kind; all others are a proof, which takes its time."""


def accidents(quick):
    return [pytest.param(kind, marks=() if kind in quick else pytest.mark.proof) for kind in ACCIDENTS]


@pytest.mark.parametrize("kind", accidents(IN_MAKE_TEST))
def test_no_verdict_by_accident(kind, command):
    accident = ACCIDENTS[kind]
    command.adapter(accident.source, call=accident.call)
    assert_contained(command("validate"), accident)


WITHOUT_A_FORK = ("import: os._exit(0)", "call: os._exit(0)", "second pass: os._exit(0)", "interrupts itself")


@pytest.mark.parametrize(
    "kind", [accident for accident in accidents(WITHOUT_A_FORK) if accident.values[0] not in NOT_AS_WELL]
)
def test_no_verdict_by_accident_without_a_fork(kind, command):
    accident = ACCIDENTS[kind]
    command.adapter(accident.source, call=accident.call)
    assert_contained(command("validate", guard="subprocess"), accident)


@pytest.mark.parametrize(
    "kind", [NOT_AS_WELL[0], *(pytest.param(kind, marks=pytest.mark.proof) for kind in NOT_AS_WELL[1:])]
)
def test_without_a_fork_the_status_still_says_it(kind, command):
    accident = ACCIDENTS[kind]
    command.adapter(accident.source, call=accident.call)
    ran = command("validate", guard="subprocess")
    assert (ran.status, ran.left) == (0, [])
    assert "".join(status[0] for status in ran.statuses.values()) == "ppppp"


@pytest.mark.parametrize("guard", ["fork", "subprocess"])
def test_the_gate_stays_shut(guard, command):
    command.adapter(ACCIDENTS["call: os._exit(0)"].source)
    ran = command("gate", guard=guard)
    assert (ran.status, ran.left) == (1, [])
    assert "does not pass the gate (new failure: 1; not run: 1)" in ran.out


def test_a_baseline_that_expects_the_crash_does_not_excuse_what_was_not_run(command):
    command.adapter("")
    assert command("gate", "--baseline", "b.json", "--update-baseline").status == 0
    path = command.folder / "b.json"
    text = path.read_text("utf-8")
    crash = '{"case": "documents/001/softmax_of_rows", "dtype": "float64", "status": "crash", "reason": "known"}'
    path.write_text(text.replace('"failures": []', f'"failures": [{crash}]').replace('"graded": 5', '"graded": 3'))
    assert crash in path.read_text("utf-8")
    command.adapter(ACCIDENTS["call: os._exit(0)"].source)
    ran = command("gate", "--baseline", "b.json")
    assert ran.status == 1
    assert "The run did not come to its end" in ran.out
    assert "2 of 5 not run" in ran.out
    ran = command("gate", "--baseline", "b.json", "--update-baseline")
    assert ran.status == 2
    assert "a baseline is written from a whole run" in ran.err


def test_a_refusal_whose_counterpart_was_not_run_says_nothing(command):
    """Refusals come before their counterparts here; these are never reached."""
    source = """
import os


def scaled_dot_product_attention(query, key, value):
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("widths")
    os._exit(0)
"""
    (command.folder / "mine.py").write_text(source, "utf-8")
    ran = command("validate", "--select", "documents/002/refuses_key_narrower_than_query")
    assert ran.status == 1
    statuses = {result["case"]: (result["status"], result["message"]) for result in ran.report["results"]}
    status, message = statuses["documents/002/refuses_key_narrower_than_query"]
    assert status == "crash"
    assert message == "the valid counterpart: it ended its process with exit status 0"
