"""`attnspec debug CASE TARGET`: one case, called in this process, with the user's own breakpoints and tracebacks."""

import os
from pathlib import Path

import pytest

import attnspec
from attnspec.command_line import main

FILE = """
import numpy as np

conventions = {"input_checks": "lenient"}


def scaled_dot_product_attention(query, key, value):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def unscaled(Q, K, V):
    return scaled_dot_product_attention(Q * np.sqrt(Q.shape[-1]), K, V)


def inside(query, key):
    own = "my own frame"
    return np.linalg.inv(query)  # it is not square, which NumPy says in a frame of its own


def raising(query, key, value):
    print("printed by the function")
    return inside(query, key)


def stopping(query, key, value):
    marked = "stopped here"
    breakpoint()
    result = scaled_dot_product_attention(query, key, value)
    return result


def one_wrong(query, key, value):
    result = scaled_dot_product_attention(query, key, value)
    result[0, 1, 2, 0] += 0.5
    return result


def elsewhere(query, key, value):
    return scaled_dot_product_attention(query, key, value).swapaxes(1, 2)


def tokens_first(query, key, value):
    return scaled_dot_product_attention(*(array.swapaxes(1, 2) for array in (query, key, value))).swapaxes(1, 2)
"""
AS = ("--as", "scaled_dot_product_attention")
PLAIN = "core/plain"


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE, "utf-8")
    return str(path)


@pytest.fixture
def debug(capsys):
    def run(*words):
        status = main(["debug", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def in_a_terminal(warm_commands):
    """Run the command as a user does, who types into it."""

    def run(*words, typed):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONBREAKPOINT"}
        done = warm_commands.run("debug", *words, typed=typed, env=environment)
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_right_answer_ends_with_0(mine, debug):
    status, out, _ = debug(PLAIN, mine)
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == "core/plain (float64): Three batch entries of two heads, four queries and five keys"
    assert lines[1].endswith("called with query [3, 2, 4, 3], key [3, 2, 5, 3], value [3, 2, 5, 3].")
    assert "pass: all 72 elements that are graded lie within their tolerance." in lines
    assert "output: none wrong, of 72 elements" in lines
    assert lines[-1].endswith("and once more with query alone changed.")


def test_wrong_elements_come_worst_first_and_are_counted(mine, debug):
    status, out, _ = debug(PLAIN, f"{mine}:one_wrong", *AS)
    lines = out.splitlines()
    assert status == 1
    assert lines[3].startswith("fail: output[0, 1, 2, 0] is ")
    heading = lines.index("output: 1 wrong, of 72 elements")
    assert lines[heading + 1].split() == ["element", "expected", "got", "error", "tolerance", "error", "/", "tolerance"]
    assert lines[heading + 2].split("]")[0].strip() == "[0, 1, 2, 0"
    assert float(lines[heading + 2].split()[-3]) == pytest.approx(0.5)
    assert float(lines[heading + 3].split()[-1]) <= 1
    assert "more" not in lines[heading + 12]


def test_more_wrong_elements_than_are_shown_are_counted(mine, debug):
    status, out, _ = debug(
        PLAIN,
        f"{mine}:unscaled",
        *AS,
        "--rename",
        "Q=query",
        "--rename",
        "K=key",
        "--rename",
        "V=value",
        "--elements",
        "3",
    )
    assert status == 1
    assert "output: 72 wrong, of 72 elements" in out
    assert "… and 69 more that are wrong" in out
    assert "The scores were not scaled." in out


def test_another_shape_is_said_without_a_table(mine, debug):
    status, out, _ = debug(PLAIN, f"{mine}:elsewhere", *AS)
    assert status == 1
    assert "fail: output has the shape (3, 4, 2, 3); expected (3, 2, 4, 3)." in out
    assert "error / tolerance" not in out


def test_the_first_step_that_diverges_is_named(tmp_path, debug):
    path = tmp_path / "steps.py"
    path.write_text(
        "import attnspec_reference\n"
        "def scaled_dot_product_attention(query, key, value):\n"
        "    output, weights, *_ = attnspec_reference.scaled_dot_product_attention(query, key, value)\n"
        "    return output * 2, weights\n",
        "utf-8",
    )
    status, out, _ = debug("core/plain_weights", str(path))
    assert status == 1
    assert "The first step that diverges is 'output'; weights is right." in out


def test_an_exception_shows_the_users_own_traceback(mine, debug):
    status, out, _ = debug(PLAIN, f"{mine}:raising", *AS)
    assert status == 1
    assert out.index("printed by the function") < out.index("Traceback (most recent call last):")
    frames = [line for line in out.splitlines() if line.startswith("  File ")]
    assert [frame.rsplit(" ", 1)[-1] for frame in frames[:2]] == ["raising", "inside"]
    ours = Path(attnspec.__file__).parent
    assert not any(Path(frame.split('"')[1]).is_relative_to(ours) for frame in frames)
    assert "error: raised LinAlgError" in out


def test_the_layout_is_that_of_the_target(mine, debug):
    target = (f"{mine}:tokens_first", *AS)
    assert debug(PLAIN, *target, "--layout", "bshe")[0] == 0
    assert debug(PLAIN, *target)[0] == 1


def test_what_is_printed_is_what_the_function_is_given(mine, debug):
    target = (f"{mine}:tokens_first", *AS)
    contracts = "is called with query [3, 2, 4, 3], key [3, 2, 5, 3], value [3, 2, 5, 3]."
    tokens_first = "is called with query [3, 4, 2, 3], key [3, 5, 2, 3], value [3, 5, 2, 3], in the layout bshe."
    assert contracts in debug(PLAIN, *target)[1]
    assert tokens_first in debug(PLAIN, *target, "--layout", "bshe")[1]
    one_by_one = debug(PLAIN, f"{mine}:elsewhere", *AS, "--layout", "hse")[1]
    assert "is called with query [2, 4, 3], key [2, 5, 3], value [2, 5, 3], in the layout hse." in one_by_one
    assert one_by_one.count("It is called again for the next entry") == 1


def test_the_dtype_is_the_first_that_is_declared_or_the_one_requested(debug):
    assert debug(PLAIN, "reference")[1].startswith("core/plain (float64)")
    status, out, _ = debug(PLAIN, "reference", "--dtype", "bfloat16")
    assert (status, out[:21]) == (0, "core/plain (bfloat16)")


def test_what_is_not_offered_is_no_success(mine, debug):
    status, out, _ = debug("alibi/both_sides_drawn", mine)
    assert status == 1
    assert "not offered: it has no argument 'alibi_slopes'." in out
    status, out, _ = debug("documents/001/softmax_of_rows", mine)
    assert (status, out) == (1, "documents/001/softmax_of_rows (float64) is not graded: softmax is not offered.\n")


def test_a_refusal_is_a_pass_and_shows_no_traceback(debug):
    status, out, _ = debug("rejects/batch_of_one", "reference")
    assert status == 0
    assert "pass: refused: ValueError" in out
    assert "Traceback" not in out


def test_a_convention_is_graded_under(mine, debug):
    case = "documents/002/attention_fully_masked_row"
    assert debug(case, "reference")[0] == 0
    status, out, _ = debug(case, "reference", "--convention", "fully_masked_row=nan")
    assert status == 1
    assert "(graded under fully_masked_row=nan)" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("core/plan", "reference"), "There is no case 'core/plan'. Did you mean core/plain"),
        ((PLAIN, "nowhere.at_all"), "nowhere"),
        ((PLAIN, "reference", "--dtype", "float8"), "There is no dtype 'float8'"),
        (("documents/001/softmax_of_rows", "reference", "--dtype", "float16"), "is not offered in it; it is in"),
        ((PLAIN, "reference", "--convention", "mood=good"), "the unknown convention 'mood'"),
        ((PLAIN, "reference", "--layout", "upside_down"), "There is no layout 'upside_down'"),
        ((PLAIN, "reference", "--device", "cuda"), "takes no device"),
    ],
)
def test_what_cannot_be_run_ends_with_2(words, sentence, debug):
    status, _, err = debug(*words)
    assert status == 2
    assert sentence in err


def test_a_breakpoint_of_the_users_holds(mine, in_a_terminal):
    status, out, _ = in_a_terminal(PLAIN, f"{mine}:stopping", *AS, typed="p marked\nc\n")
    assert status == 0
    assert "'stopped here'" in out
    assert "pass: all 72 elements" in out


def test_who_leaves_the_debugger_leaves_the_command(mine, in_a_terminal):
    status, out, err = in_a_terminal(PLAIN, f"{mine}:stopping", *AS, typed="q\n")
    assert (status, err.strip()) == (130, "attnspec: interrupted")
    assert "pass" not in out


def test_post_mortem_is_entered_in_the_users_own_frame(mine, in_a_terminal):
    status, out, _ = in_a_terminal(PLAIN, f"{mine}:raising", *AS, "--pdb", typed="p own\nup\np value.shape\nq\n")
    assert status == 1
    assert "'my own frame'" in out
    assert "(3, 2, 5, 3)" in out
