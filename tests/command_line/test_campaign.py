"""``attnspec campaign``: what it says, how it ends, and that it goes on where it was killed."""

import json
import random
import runpy
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attnspec.command_line import main
from attnspec.draws import draw, recipe_from_text
from attnspec_reference import scaled_dot_product_attention

TARGETS = Path(__file__).parents[1] / "campaign"
SMALL = ["--elements", "1000", "--longest", "100"]


def target(name):
    return str(TARGETS / f"{name}.py")


def test_what_is_right_ends_with_0(capsys):
    assert main(["campaign", "reference", "--cases", "40", "--dtype", "float32", *SMALL]) == 0
    told = capsys.readouterr().out
    assert "0 failed" in told
    assert "is_causal" in told


def test_what_is_wrong_ends_with_1_and_its_recipe_can_be_used(capsys, tmp_path):
    recipes = tmp_path / "recipes"
    assert main(["campaign", target("wrong"), "--cases", "200", "--recipes", str(recipes), *SMALL]) == 1
    told = capsys.readouterr().out
    (recipe,) = recipes.read_text().splitlines()
    assert f"attnspec debug {recipe} {target('wrong')}" in told
    assert main(["debug", recipe, target("wrong")]) == 1


def test_small_draws_are_written_as_recipes_of_golden_cases(capsys, tmp_path):
    written = tmp_path / "found.py"
    assert main(["campaign", target("lenient"), "--cases", "200", "--recipes", str(written), *SMALL]) == 1
    capsys.readouterr()
    module = runpy.run_path(str(written))
    cases = {case.id: case for case in module["cases"]()}
    refused = next(case for case in cases.values() if case.rejects)
    twin = cases[refused.rejects.twin]
    command = next(line for line in written.read_text().splitlines() if "show --python" in line)
    drawn = draw(recipe_from_text(shlex.split(command)[-1]))
    assert {case.operation for case in cases.values()} == {"scaled_dot_product_attention"}
    assert any(
        case.inputs.keys() == drawn.inputs.keys()
        and all(np.array_equal(case.inputs[name], array, equal_nan=True) for name, array in drawn.inputs.items())
        for case in cases.values()
    )
    with pytest.raises(ValueError, match=r"key|query|value"):
        scaled_dot_product_attention(**refused.inputs, **refused.attributes)
    assert scaled_dot_product_attention(**twin.inputs, **twin.attributes).output.size


def test_what_golden_cases_and_draws_cover_is_written(capsys, tmp_path):
    page = tmp_path / "coverage.md"
    words = ["--cases", "60", "--dtype", "float32", "--operation", "softmax", "--coverage", str(page), *SMALL]
    assert main(["campaign", "reference", *words]) == 0
    assert "## `softmax`" in page.read_text()
    assert "pairs of levels meet in golden cases" in page.read_text()


def test_a_file_that_cannot_be_written_is_told(capsys, tmp_path):
    words = ["--cases", "20", "--operation", "softmax", "--coverage", str(tmp_path / "no" / "page.md"), *SMALL]
    assert main(["campaign", "reference", *words]) == 2
    assert "page.md could not be written: No such file or directory." in capsys.readouterr().err


def test_features_of_draws_and_capabilities_are_left_out(capsys):
    arguments = ["campaign", "reference", "--cases", "40", "--dtype", "float32", *SMALL]
    assert main([*arguments, "--without", "uniform,presentation,window,sinks"]) == 0
    told = capsys.readouterr().out
    assert "is_causal" in told
    assert not any(word in told for word in ("uniform", "presentation", "window", "sinks"))


def test_what_is_no_feature_is_refused(capsys):
    assert main(["campaign", "reference", "--cases", "40", "--without", "unicorns"]) == 2
    assert "'unicorns'" in capsys.readouterr().err


def test_it_ends_after_its_time(capsys):
    start = time.monotonic()
    assert main(["campaign", "reference", "--minutes", "0.02", "--dtype", "float32", *SMALL]) == 0
    assert time.monotonic() - start < 120


@pytest.mark.proof
def test_killed_at_any_moment_it_goes_on_and_nothing_is_lost_or_counted_twice(tmp_path):
    words = ["campaign", "reference", "--cases", "900", "--dtype", "float64", *SMALL]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main([*words, "--resume", str(whole)]) == 0
    moments = random.Random(14)
    for _ in range(20):
        running = subprocess.Popen(
            [sys.executable, "-m", "attnspec", *words, "--resume", str(killed)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moments.uniform(0.2, 3.0))
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert main([*words, "--resume", str(killed)]) == 0
    first, second = ([json.loads(line) for line in path.read_text().splitlines()] for path in (whole, killed))
    assert first[0] == second[0]
    keys = [part["key"] for part in second[1:]]
    assert len(keys) == len(set(keys))
    assert sorted(first[1:], key=lambda part: part["key"]) == sorted(second[1:], key=lambda part: part["key"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["reference"], "Say how many draws"),
        (["reference", "--cases", "1", "--minutes", "1"], "Say how many draws"),
        (["--cases", "1"], "Say what to try"),
        *(
            (["reference", "--cases", "1", "--seed", seed], f"The seed {seed!r} cannot be written in a recipe")
            for seed in ("", "a/b", "a b", "a:b")
        ),
        (["reference", "--cases", "1", "--seed", "\udcff"], "choose a word of letters or digits"),
        (["reference", "--cases", "1", "--operation", "adding"], "There is no operation 'adding'"),
        (["reference", "--cases", "1", "--operation", "glorot_normal"], "does not offer glorot_normal"),
        (["reference", "--cases", "1", "--dtype", "float7"], "float7"),
        (["reference", "--cases", "1", "--executor", "moon:1"], "--executor moon:1"),
        (["./nowhere.py", "--cases", "1"], "nowhere.py"),
        ([target("wrong"), "--cases", "1", "--dtype", "float16"], "wrong does not offer float16; it offers float64."),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(capsys, words, says):
    assert main(["campaign", *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["pi=3.14", "+", "é", "-"])
def test_any_word_that_a_recipe_can_name_is_a_seed(capsys, seed):
    words = ["--cases", "3", "--dtype", "float32", "--operation", "softmax"]
    assert main(["campaign", "reference", f"--seed={seed}", *words]) == 0
    assert "3 draws" in capsys.readouterr().out


def test_what_ends_its_process_while_it_is_imported_is_told(capsys, tmp_path):
    (tmp_path / "dies.py").write_text("import os\nos._exit(3)\n")
    assert main(["campaign", str(tmp_path / "dies.py"), "--cases", "3"]) == 2
    assert "dies.py ended its process while it was imported." in capsys.readouterr().err


def test_what_ends_its_process_at_small_draws_is_told_with_the_draw(capsys):
    assert main(["campaign", target("crashing"), "--cases", "40", *SMALL]) == 1
    told = capsys.readouterr().out
    assert ", 0 declined" in told
    assert "It ends the process that asks for it." in told
    assert "Made small: the process ended with exit code 3" in told
