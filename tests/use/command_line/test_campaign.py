"""``attnspec campaign``: what it says, how it ends, and that it goes on where it was killed."""

import json
import os
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
from attnspec_draws import draw, recipe_from_text
from attnspec_draws.commands.campaign_files import FoundCase, authored_cases
from attnspec_reference import scaled_dot_product_attention

TARGETS = Path(__file__).parents[2] / "unit" / "attnspec_draws" / "campaign"
SMALL = ["--elements", "1000", "--longest", "100"]


def target(name):
    return str(TARGETS / f"{name}.py")


def test_what_is_right_ends_with_0_and_all_that_was_drawn_is_reported(capsys):
    assert main(["campaign", "reference", "--cases", "150", "--dtype", "float32", *SMALL]) == 0
    reported = " ".join(capsys.readouterr().out.split())
    assert "0 failed" in reported
    assert "is_causal" in reported
    drawn = reported.partition("Drawn: ")[2].partition(". ")[0].split(", ")
    assert len(drawn) > 60
    assert all(feature.rpartition(" ")[2].isdecimal() for feature in drawn)


def test_what_is_wrong_ends_with_1_and_its_recipe_can_be_used(capsys, tmp_path):
    recipes = tmp_path / "recipes"
    assert main(["campaign", target("wrong"), "--cases", "200", "--recipes", str(recipes), *SMALL]) == 1
    reported = capsys.readouterr().out
    (recipe,) = recipes.read_text().splitlines()
    assert f"attnspec debug {recipe} {target('wrong')}" in reported
    assert main(["debug", recipe, target("wrong")]) == 1


def test_a_right_one_gets_the_offers_of_validate_and_is_green_once_they_are_followed(capsys):
    words = ["campaign", target("no_heads"), "--cases", "700", *SMALL]
    assert main(words) == 1
    reported = capsys.readouterr().out
    assert "If it is meant so, declare it, and none of them is left:" in reported
    offered = [line.split() for line in reported.splitlines() if line.startswith(("  --without ", "  --convention "))]
    assert offered == [["--without", "empty_heads", "--convention", "input_checks=lenient"]]
    assert main([*words, *(word for option in offered for word in option)]) == 0


def test_a_wrong_one_stays_wrong_under_what_a_campaign_offers(capsys):
    words = ["campaign", target("particular"), "--cases", "150", *SMALL]
    assert main(words) == 1
    reported = capsys.readouterr().out
    offered = [line.split() for line in reported.splitlines() if line.startswith(("  --without ", "  --convention "))]
    assert main([*words, *(word for option in offered for word in option)]) == 1


def test_draws_are_put_into_a_layout_and_so_is_the_one_that_is_shown(capsys):
    """Slots of a page begin anew at 128 there: pages of 16 are right, and pages of 256 are not."""
    words = ["campaign", target("pages"), "--cases", "120", "--elements", "20000"]
    assert main([*words, "--layout", "paged:page_size=16"]) == 0
    capsys.readouterr()
    assert main([*words, "--layout", "paged:page_size=256"]) == 1
    reported = capsys.readouterr().out
    command = next(line for line in reported.splitlines() if "attnspec debug" in line)
    assert "--layout=paged:page_size=256" in command
    assert main(shlex.split(command)[1:]) == 1


def test_small_draws_are_written_as_recipes_of_golden_cases(capsys, tmp_path):
    written = tmp_path / "found.py"
    assert main(["campaign", target("lenient"), "--cases", "200", "--recipes", str(written), *SMALL]) == 1
    capsys.readouterr()
    module = runpy.run_path(str(written))
    cases = {case.id: case for case in module["cases"]()}
    refused = next(case for case in cases.values() if case.rejects)
    counterpart = cases[refused.rejects.counterpart]
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
    assert scaled_dot_product_attention(**counterpart.inputs, **counterpart.attributes).output.size


def test_what_golden_cases_and_draws_cover_is_written(capsys, tmp_path):
    page = tmp_path / "coverage.md"
    words = ["--cases", "60", "--dtype", "float32", "--operation", "softmax", "--coverage", str(page), *SMALL]
    assert main(["campaign", "reference", *words]) == 0
    assert "## `softmax`" in page.read_text()
    assert "pairs of levels meet in golden cases" in page.read_text()


@pytest.mark.parametrize("option", ["--recipes", "--coverage"])
def test_a_file_is_tried_first_and_not_touched(capsys, tmp_path, option):
    words = ["campaign", target("wrong"), "--cases", "1", option]
    assert main([*words, str(tmp_path)]) == 2
    assert f"{option} {tmp_path} is a folder; name a file." in capsys.readouterr().err
    kept = tmp_path / "kept"
    kept.write_text("of an earlier run")
    assert main([*words, str(kept), "--without", "unicorns"]) == 2
    assert kept.read_text() == "of an earlier run"
    assert main([*words, str(kept), "--resume", str(kept)]) == 2
    assert f"{option} and --resume name one file" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_reported(capsys, tmp_path):
    words = ["--cases", "20", "--operation", "softmax", "--coverage", str(tmp_path / "no" / "page.md"), *SMALL]
    assert main(["campaign", "reference", *words]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_features_of_draws_and_capabilities_are_left_out(capsys):
    arguments = ["campaign", "reference", "--cases", "40", "--dtype", "float32", *SMALL]
    assert main([*arguments, "--without", "uniform,presentation,window,sinks"]) == 0
    reported = capsys.readouterr().out
    assert "is_causal" in reported
    assert not any(word in reported for word in ("uniform", "presentation", "window", "sinks"))


def test_what_is_no_feature_is_refused_and_what_is_one_listed(capsys):
    assert main(["campaign", "reference", "--cases", "40", "--without", "unicorns"]) == 2
    reported = capsys.readouterr().err
    assert "--without unicorns: 'unicorns' is nothing that draws could leave out." in reported
    assert "attnspec explain capabilities" in reported
    assert "tied, tiny, turned_inside, uniform, wide." in reported


def test_what_is_not_offered_is_reported(capsys):
    words = ["--cases", "20", "--without", "sinks", *SMALL]
    assert main(["campaign", target("no_scale"), *words]) == 1
    line = " ".join(
        capsys.readouterr().out.partition("Not offered, and so not drawn: ")[2].partition("\n\n")[0].split()
    )
    assert line.startswith("alibi_slopes, ")
    assert "mask, " in line
    assert "sinks" not in line


def test_where_nothing_could_be_graded_it_ends_with_1(capsys, tmp_path):
    (tmp_path / "declines.py").write_text("def softmax(x, axis=-1):\n    raise NotImplementedError('not today')\n")
    assert main(["campaign", str(tmp_path / "declines.py"), "--cases", "4"]) == 1
    reported = capsys.readouterr().out
    assert "4 draws" in reported
    assert "Nothing could be graded: all draws were declined." in reported
    command = shlex.split(reported.splitlines()[-1])
    assert main(command[1:]) == 1
    assert "not today" in capsys.readouterr().out


def test_a_campaign_goes_on_with_the_same_code_alone(capsys, tmp_path):
    mine, kept = tmp_path / "mine.py", tmp_path / "kept"
    mine.write_text("import numpy as np\n\n\ndef softmax(x, axis=-1):\n    return x * 0 + np.e\n")
    words = ["campaign", str(mine), "--dtype", "float64", "--resume", str(kept), *SMALL, "--cases"]
    assert main([*words, "20"]) == 1
    assert "20 draws in" in capsys.readouterr().out
    assert main([*words, "30"]) == 1
    assert "30 draws, 20 of them earlier, the others in" in capsys.readouterr().out
    mine.write_text(mine.read_text() + "# mended\n")
    assert main([*words, "40"]) == 2
    assert f"mine.py changed since {kept} was begun" in " ".join(capsys.readouterr().err.split())


def test_failures_of_before_that_are_none_any_more_are_reported(capsys, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import os\nimport numpy as np\n\n\ndef softmax(x, axis=-1):\n"
        "    weights = np.exp(x - x.max(axis, keepdims=True))\n"
        "    return weights / weights.sum(axis, keepdims=True) + float(os.environ.get('OFFSET', 0))\n"
    )
    words = ["campaign", str(tmp_path / "mine.py"), "--cases", "20", "--resume", str(tmp_path / "kept"), *SMALL]
    monkeypatch.setenv("OFFSET", "1")
    assert main(words) == 1
    capsys.readouterr()
    monkeypatch.delenv("OFFSET")
    assert main(words) == 1
    assert "Run again, none of them fails" in capsys.readouterr().out


def test_lines_are_as_wide_as_the_page_and_no_wider_than_what_they_say(capsys):
    assert main(["campaign", target("no_scale"), "--cases", "60", *SMALL]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if line.endswith(" ")]
    assert not [line for line in lines if len(line) > 100 and not line.startswith("  attnspec ")]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_an_interruption_leaves_what_was_found(tmp_path, warm_commands):
    kept = tmp_path / "kept"
    words = ["campaign", target("wrong"), "--cases", "1000000", "--resume", str(kept), *SMALL]
    running = warm_commands.start(*words)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (kept.exists() and '"values"' in kept.read_text()):
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    reported, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "draws in" in reported
    assert "failed so far (values), such as:" in reported
    assert "  attnspec debug draw:" in reported
    assert errors.split("\n")[:-1] == [
        f"{kept} holds what is done; the same command goes on with it.",
        "",
        "attnspec: interrupted",
    ]


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
        (["reference", "--cases", "1", "--seed", "\udcff"], "choose a word without space, / and :"),
        (["reference", "--cases", "1", "--seed", "\a"], "choose a word of letters or digits"),
        (["reference", "--cases", "1", "--operation", "adding"], "There is no operation 'adding'"),
        (["reference", "--cases", "1", "--dtype", "float7"], "float7"),
        (["reference", "--cases", "1", "--executor", "moon:1"], "--executor moon:1"),
        (["reference", "--cases", "1", "--resume", "/dev/full"], "/dev/full is no regular file"),
        *((["reference", f"--minutes={number}"], f"{number} is not finite") for number in ("nan", "inf")),
        (["reference", "--cases", "1", "--timeout", "nan"], "nan is not finite"),
        (["reference", "--cases", "1", "--elements", "1"], "1 is not in the range x>=2"),
        (["./nowhere.py", "--cases", "1"], "nowhere.py"),
        ([target("no_heads"), "--cases", "1", "--dtype", "float16"], "does not offer float16; it offers float64."),
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


def test_what_is_said_of_a_small_draw_is_cut_off_visibly(capsys, tmp_path):
    path = tmp_path / "wordy.py"
    path.write_text(f"def scaled_dot_product_attention(query, key, value):\n    raise ValueError('{'long ' * 100}')\n")
    assert main(["campaign", str(path), "--cases", "6", *SMALL]) == 1
    small = capsys.readouterr().out.partition("Made small: ")[2].partition("attnspec show")[0]
    assert small.rstrip().endswith("…")


def test_what_ends_its_process_while_it_is_imported_is_reported(capsys, tmp_path):
    (tmp_path / "dies.py").write_text("import os\nos._exit(3)\n")
    assert main(["campaign", str(tmp_path / "dies.py"), "--cases", "3"]) == 2
    assert "dies.py ended its process while it was imported." in capsys.readouterr().err


def test_what_ends_its_process_at_small_draws_is_reported_with_the_draw(capsys):
    assert main(["campaign", target("crashing"), "--cases", "40", *SMALL]) == 1
    reported = capsys.readouterr().out
    assert ", 0 declined" in reported
    assert "It ends the process that asks for it." in reported
    assert "Made small: the process ended with exit code 3" in reported


def test_a_written_recipe_has_the_memory_order_of_its_draw():
    recipes = (f"draw:softmax/memory/{number}:float32:elements=30" for number in range(200))
    case = next(case for case in map(draw, map(recipe_from_text, recipes)) if case.memory_order)
    namespace = {}
    exec(authored_cases([FoundCase(case, "shown", None)]), namespace)
    (authored,) = namespace["cases"]()
    assert authored.memory_order == case.memory_order
