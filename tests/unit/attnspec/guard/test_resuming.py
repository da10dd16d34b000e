"""Results are kept as they come, survive SIGKILL, and a second run goes on and comes to the same report."""

import itertools
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from attnspec.base.errors import UsageError
from attnspec.guard.kept_journal import open_kept

WRONG = """
import os
import numpy as np

calls = 0


def softmax(x, axis=-1):
    global calls
    calls += 1
    with open("calls", "a") as file:
        file.write("+")
    if calls == HANGS and not os.path.exists("goes_on"):
        open("hangs", "w").close()
        while True:
            pass
    exponentials = np.exp(x - x.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    raise NotImplementedError("later")
"""
"""It is right along the first axis alone, so that some cases pass and some fail, with something to diagnose."""

PROOF = pytest.mark.proof
MAPS = Path("/proc/self/maps")
OPTIONS = ("--profile", "documents", "--profile", "layout", "--select", "*softmax*", "--resume", "kept")
GUARDS = {"fork": ("fork", ()), "spawn": ("subprocess", ()), "isolate": ("fork", ("--isolate",))}
"""Each way of keeping the target apart, with the option that asks for it."""


class Resumed:
    def __init__(self, command):
        self.command = command

    def adapter(self, *, hangs=0, source=WRONG):
        (self.command.folder / "mine.py").write_text(source.replace("HANGS", str(hangs)), "utf-8")

    def calls(self):
        path = self.command.folder / "calls"
        number = len(path.read_text("utf-8")) if path.exists() else 0
        path.unlink(missing_ok=True)
        return number

    def clear(self):
        for name in ("kept", "hangs", "goes_on", "report.json"):
            (self.command.folder / name).unlink(missing_ok=True)
        self.calls()

    def killed(self, *words, number=signal.SIGKILL, **options):
        """Run it until it hangs, and end it."""
        process = self.command.start(*words, **options)
        deadline = time.monotonic() + 60
        while not (self.command.folder / "hangs").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        ran = self.command.end(process)
        (self.command.folder / "goes_on").touch()
        return ran


@pytest.fixture
def resumed(command):
    return Resumed(command)


def reported(report):
    """A report without what differs from run to run."""
    results = [{key: value for key, value in result.items() if key != "seconds"} for result in report["results"]]
    return report | {"results": results}


def everywhere(values, quick):
    """Each value under each guard; all but the quick ones are proofs, which take their time."""
    return [
        pytest.param(value, *GUARDS[guard], id=f"{value}-{guard}", marks=() if (value, guard) in quick else PROOF)
        for value in values
        for guard in GUARDS
    ]


@pytest.mark.parametrize(
    ("hangs", "guard", "words"), everywhere([1, 4, 14], [(4, "fork"), (4, "spawn"), (4, "isolate")])
)
def test_after_sigkill_it_goes_on_and_comes_to_the_same_report(hangs, guard, words, resumed):
    words = ("validate", *words, *OPTIONS)
    resumed.adapter()
    whole = resumed.command(*words, guard=guard)
    needed = resumed.calls()
    statuses = {result["status"] for result in whole.report["results"]}
    assert {"pass", "fail"} <= statuses
    assert whole.report["diagnosis"]
    resumed.clear()
    resumed.adapter(hangs=hangs)
    killed = resumed.killed(*words, guard=guard)
    assert (killed.status, killed.report, killed.left) == (-signal.SIGKILL, None, [])
    assert resumed.calls() == hangs
    again = resumed.command(*words, guard=guard)
    assert (again.status, again.out) == (whole.status, whole.out)
    assert reported(again.report) == reported(whole.report)
    # What failed is not run again, what only passed once is run from the start.
    assert needed - hangs < resumed.calls() <= needed
    done = resumed.command(*words, guard=guard)
    assert resumed.calls() == 0
    assert reported(done.report) == reported(whole.report)


@pytest.mark.parametrize(
    ("name", "guard", "words"), everywhere(["SIGINT", "SIGTERM"], [("SIGINT", "fork"), ("SIGTERM", "isolate")])
)
def test_an_interrupted_run_says_how_far_it_got_and_goes_on(name, guard, words, resumed):
    number = signal.Signals[name]
    words = ("validate", *words, *OPTIONS)
    resumed.adapter()
    whole = resumed.command(*words, guard=guard)
    resumed.clear()
    resumed.adapter(hangs=4)
    partial = resumed.killed(*words, number=number, guard=guard)
    assert partial.status == 128 + number
    assert partial.report["not_run"] == len(whole.report["results"]) - len(partial.report["results"]) > 0
    assert partial.report["results"]
    again = resumed.command(*words, guard=guard)
    assert reported(again.report) == reported(whole.report)


def test_after_a_crash_it_goes_on_behind_it(command):
    command.adapter("\ndef accident(x):\n    os._exit(0)\n")
    words = ("validate", "--resume", "kept")
    first = command(*words)
    assert list(first.statuses.values()) == ["pass", "pass", "crash"]
    second = command(*words)
    assert second.status == 1
    # The third call of this run is of the second pass again.
    assert second.statuses["rows"] == "crash"
    runs = itertools.takewhile(lambda ran: "not_run" in ran.report, (command(*words) for _ in range(5)))
    assert len(list(runs)) < 5
    last = command(*words)
    assert len(last.statuses) == 5
    assert last.status == 1


WAYS = {
    "in its own file": ("mine.py", (), ("./mine.py",)),
    "in a module that is imported late": ("late.py", (), ("./mine.py",)),
    "in a package that lies elsewhere": ("elsewhere/kernels/tiles.py", (), ("./mine.py",)),
    "in a process of its own": ("late.py", ("--isolate",), ("./mine.py",)),
    "in a program": ("late.py", ("--command", f"{sys.executable} program.py"), ()),
}
"""Where code is changed, in which file, and how it is run."""


@pytest.mark.parametrize(("changed", "words", "target"), WAYS.values(), ids=WAYS)
def test_changed_code_is_run_anew_with_a_sentence(changed, words, target, command, monkeypatch):
    folder = command.folder
    (folder / "elsewhere" / "kernels").mkdir(parents=True)
    (folder / "elsewhere" / "kernels" / "__init__.py").touch()
    (folder / "elsewhere" / "kernels" / "tiles.py").write_text("def scaled(array):\n    return 1.0 * array\n", "utf-8")
    (folder / "late.py").write_text("from kernels.tiles import scaled\nfactor = 1.0\n", "utf-8")
    (folder / "mine.py").write_text(
        "import sys\nimport numpy as np\nsys.path.append('elsewhere')\n\n\ndef softmax(x, axis=-1):\n"
        "    from late import factor, scaled\n    e = np.exp(x - x.max(axis=axis, keepdims=True))\n"
        "    return 1.0 * scaled(factor * e / e.sum(axis=axis, keepdims=True))\n",
        "utf-8",
    )
    (folder / "program.py").write_text(
        "import sys\nsys.path.insert(0, '.')\nimport mine\nfrom attnspec.process.serving import main\n"
        "sys.exit(main(['./mine.py']))\n",
        "utf-8",
    )
    words = ("gate", "--resume", "kept", *words)
    first = command(*words, target=target)
    assert (first.status, first.err) == (0, "")
    again = command(*words, target=target)
    assert again.status == 0
    assert "--resume kept: 5 of its 5 results, of the same code, are taken over from the run of 20" in again.err
    path = folder / changed
    path.write_text(path.read_text("utf-8").replace("1.0", "1.01"), "utf-8")
    after = command(*words, target=target)
    assert after.status == 1
    assert f"--resume kept: {changed} has changed since 20" in after.err
    assert "Its 5 results of the code before are let go, and everything is run anew." in after.err
    assert "--resume kept: 5 of its 5 results, of the same code," in command(*words, target=target).err


@pytest.mark.skipif(not MAPS.exists(), reason="the system does not say which libraries are loaded")
def test_a_changed_library_of_c_is_run_anew(command):
    library = next(Path(line.split()[-1]) for line in MAPS.read_text().splitlines() if "/libm." in line)
    shutil.copy(library, command.folder / "kernel.so")
    command.adapter("\ndef accident(x):\n    ctypes.CDLL('./kernel.so')\n")
    assert command("validate", "--resume", "kept").status == 0
    with (command.folder / "kernel.so").open("ab") as file:
        file.write(b"newer")
    ran = command("validate", "--resume", "kept")
    assert ran.status == 0
    assert "--resume kept: kernel.so has changed since" in ran.err


def test_results_of_code_that_nobody_knows_are_let_go(tmp_path):
    path = tmp_path / "results"
    journal, _ = open_kept(path, {"TARGET": "mine"}, {})
    journal._append(("about", {"since": ""}))
    journal._append(("has", "core/plain", "float64", (None, "pass"), 0.1, None))
    _, said = open_kept(path, {"TARGET": "mine"}, {})
    assert said == f"--resume {path}: it does not say which code gave its 1 result. Everything is run anew."
    assert open_kept(path, {"TARGET": "mine"}, {})[1] == ""


def test_a_file_of_another_run_is_refused(command):
    command.adapter("")
    assert command("validate", "--resume", "kept").status == 0
    before = (command.folder / "kept").read_bytes()
    for words, said in (
        (("--dtype", "float32"), "--dtype was not said and is float32"),
        (("--isolate",), "--isolate was not said and is given"),
        (("--convention", "no_keys=nan"), "--convention was not said and is no_keys=nan"),
        (("--as", "softmax"), "--as was not said and is softmax"),
    ):
        ran = command("validate", "--resume", "kept", *words)
        assert ran.status == 2
        assert f"--resume kept: it holds results of another run: {said}." in ran.err
        assert (command.folder / "kept").read_bytes() == before


def test_words_in_one_text_and_in_several_are_the_same(tmp_path):
    path = tmp_path / "results"
    open_kept(path, {"--rename": "Q=query,K=key"}, {})
    open_kept(path, {"--rename": "Q=query, K=key", "--device": ""}, {})
    with pytest.raises(UsageError, match="--rename was Q=query,K=key and is Q=query"):
        open_kept(path, {"--rename": "Q=query"}, {})


def test_a_file_of_another_target_or_suite_is_refused(command):
    command.adapter("")
    assert command("validate", "--resume", "kept").status == 0
    ran = command("validate", "--resume", "kept", target=("reference",))
    assert ran.status == 2
    assert "TARGET was ./mine.py and is reference." in ran.err
    content = bytearray((command.folder / "kept").read_bytes())
    position = content.index(b"the suite") + len(b"the suite") + 8
    content[position] = ord("0") if content[position] != ord("0") else ord("1")
    (command.folder / "kept").write_bytes(content)
    ran = command("validate", "--resume", "kept")
    assert ran.status == 2
    assert "the suite was" in ran.err


def test_a_target_that_declares_something_else_now_is_refused(command):
    command.adapter("\nversion = '2' if os.path.exists('newer') else '1'\n")
    assert command("validate", "--resume", "kept").status == 0
    (command.folder / "newer").touch()
    ran = command("validate", "--resume", "kept")
    assert ran.status == 2
    assert "mine declares something else than when the file of --resume was written." in ran.err


@pytest.mark.parametrize("content", [b"{}", b"\0" * 5000, b"x" * 5000])
def test_a_file_that_holds_something_else_is_left_alone(content, command):
    command.adapter("")
    (command.folder / "kept").write_bytes(content)
    ran = command("validate", "--resume", "kept")
    assert ran.status == 2
    assert "--resume kept: the file holds something else." in ran.err
    assert (command.folder / "kept").read_bytes() == content


def test_a_file_cannot_run_anything(command):
    import pickle

    command.adapter("")
    assert command("validate", "--resume", "kept").status == 0
    content = (command.folder / "kept").read_bytes()

    class Evil:
        def __reduce__(self):
            return (print, ("evil",))

    start = content.index(b"attnspec journal 1\n") + len(b"attnspec journal 1\n") + 9
    evil = pickle.dumps(("about", Evil()), 5)
    length = int.from_bytes(content[start - 9 : start - 1], "little")
    assert len(evil) <= length
    (command.folder / "kept").write_bytes(content[:start] + evil.ljust(length, b".") + content[start + length :])
    ran = command("validate", "--resume", "kept")
    assert ran.status == 2
    assert "--resume kept: the file is damaged." in ran.err
    assert "evil" not in ran.out


def test_a_folder_that_is_not_there_and_several_jobs_are_refused(command):
    command.adapter("")
    ran = command("validate", "--resume", "nowhere/kept")
    assert ran.status == 2
    assert "--resume nowhere/kept: the file cannot be opened" in ran.err
    ran = command("validate", "--resume", "kept", "--jobs", "2")
    assert ran.status == 2
    assert "--jobs 2 and --resume: only one job can keep its results in a file." in ran.err


def test_a_case_that_was_called_in_parts_is_settled(command):
    """Its verdict is written anew after the second pass, with what the parts gave."""
    counting = (
        "from attnspec_reference import scaled_dot_product_attention as reference\n\n\n"
        "def scaled_dot_product_attention(query, key, value):\n"
        '    with open("calls", "a") as file:\n        file.write("+")\n'
        "    return reference(query, key, value)\n"
    )
    (command.folder / "mine.py").write_text(counting, "utf-8")
    words = ("validate", "--select", "core/width_1", "--select", "grouped_query/more_queries", "--resume", "kept")
    whole, again = command(*words), command(*words)
    assert len((command.folder / "calls").read_text("utf-8")) == 2 + 2 + 3
    assert [entry["calls"] for entry in whole.report["invariance"]] == [1, 2]
    assert reported(again.report) == reported(whole.report)
