"""`attnspec init`: an adapter from a signature and a few probes, which shows mistakes and excuses none."""

import pytest

import attnspec
from attnspec.command_line import main

SOFTMAX = """
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
"""
FUNCTIONS = {
    "textbook": f"""
def attend(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
{SOFTMAX}
    return weights @ v
""",
    "one_head": f"""
def attend(Q, K, V, causal=False):
    scores = Q @ K.T / np.sqrt(Q.shape[1])
    if causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
{SOFTMAX}
    return weights @ V
""",
    "unscaled": f"""
def attend(q, k, v):
    scores = np.einsum("bqhd,bkhd->bhqk", q, k)
{SOFTMAX}
    return np.einsum("bhqk,bkhd->bqhd", weights, v)
""",
    "mask_ignored": f"""
def attend(a, b, c, mask=None):
    scores = a @ np.swapaxes(b, -1, -2) / np.sqrt(a.shape[-1])
{SOFTMAX}
    return weights @ c
""",
}


@pytest.fixture
def start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(which, *words):
        (tmp_path / f"init_{which}.py").write_text(f"import numpy as np\n{FUNCTIONS[which]}", "utf-8")
        status = main(["init", f"./init_{which}.py:attend", "--output", f"adapter_{which}.py", *words])
        return status, capsys.readouterr(), tmp_path / f"adapter_{which}.py"

    return run


@pytest.mark.parametrize(("which", "layout"), [("textbook", None), ("one_head", "se")])
def test_what_is_written_passes_all_that_it_offers(start, which, layout):
    status, printed, path = start(which)
    assert status == 0
    assert f"attnspec validate ./adapter_{which}.py" in printed.out
    report = attnspec.validate(str(path))
    assert report.conforms
    assert report.declaration.layout == layout
    assert len(path.read_text("utf-8").splitlines()) <= 40


def test_the_layout_of_a_wrong_function_is_guessed_and_the_mistake_shows(start):
    _, printed, path = start("unscaled")
    assert "layout: bshe" in printed.out
    assert not attnspec.validate(str(path), profile="core", probes=False).conforms
    assert "conventions" not in path.read_text("utf-8")


def test_an_argument_that_is_ignored_is_not_declared_away(start):
    _, printed, path = start("mask_ignored")
    assert "no declaration accounts for them" in printed.out
    assert "without" not in path.read_text("utf-8")
    assert not attnspec.validate(str(path), profile="masking", probes=False).conforms


def test_a_file_is_written_over_only_by_force(start, tmp_path):
    (tmp_path / "adapter_unscaled.py").write_text("mine", "utf-8")
    status, printed, path = start("unscaled")
    assert (status, path.read_text("utf-8")) == (2, "mine")
    assert "--force" in printed.err
    assert start("unscaled", "--force")[0] == 0
    assert path.read_text("utf-8") != "mine"


def test_the_skeleton_runs_and_offers_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    report = attnspec.validate("./attention_adapter.py", profile="core")
    assert {result.status for result in report.results} <= {"unsupported", "ungraded"}


@pytest.mark.parametrize("words", [("./none.py",), ("numpy:nothing",), ("numpy:add",), ("--output", "x.txt")])
def test_bad_input_is_a_sentence(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    assert main(["init", *words]) == 2
    assert capsys.readouterr().err.startswith("attnspec: ")


BOTTOM_RIGHT = """
import numpy as np
def flash(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    rows, columns = scores.shape[-2:]
    if causal:
        scores = np.where(np.tril(np.ones((rows, columns), bool), columns - rows{off}), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""


@pytest.mark.parametrize(
    ("off", "said"), [("", "causal_alignment=bottom_right is declared"), (" - (columns > rows)", "to declare: causal")]
)
def test_the_one_alignment_of_a_function_is_declared_where_it_is_right(tmp_path, monkeypatch, capsys, off, said):
    monkeypatch.chdir(tmp_path)
    # A name of its own: this process keeps what it has imported.
    name = f"kernel_{'off' if off else 'right'}"
    (tmp_path / f"{name}.py").write_text(BOTTOM_RIGHT.format(off=off))
    assert main(["init", f"./{name}.py:flash", "--output", "adapter.py"]) == 0
    assert said in capsys.readouterr().out
    assert ('"causal_alignment": "bottom_right"' in (tmp_path / "adapter.py").read_text()) == (not off)


def test_of_several_functions_the_one_that_names_an_operation_is_taken(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "with_main.py").write_text(BOTTOM_RIGHT.format(off="") + "\ndef main():\n    print('hello')\n")
    assert main(["init", "./with_main.py", "--output", "adapter.py"]) == 0
    assert "from with_main import flash" in (tmp_path / "adapter.py").read_text()
