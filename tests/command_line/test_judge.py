"""``attnspec judge``: what is printed, and how it ends."""

import json
from pathlib import Path

import pytest

from attnspec.command_line import main

EXPLOITS = Path(__file__).parents[1] / "judgement" / "exploits"
ENTRY = {name: [1, 2, 9, 4] for name in ("query", "key", "value")}
SHAPES = {"operation": "scaled_dot_product_attention", "dtypes": ["float32"], "shapes": [ENTRY]}


@pytest.fixture
def shapes(tmp_path):
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps(SHAPES))
    return ["--shapes", str(path), "--draws", "3"]


def target(name):
    return str(EXPLOITS / f"{name}.py")


def test_the_right_one_ends_with_0(shapes, capsys):
    assert main(["judge", target("honest"), *shapes]) == 0
    assert "honest.py: right\n" in capsys.readouterr().out


def test_the_wrong_one_ends_with_1_and_can_be_seen(shapes, capsys):
    assert main(["judge", target("zeros"), *shapes]) == 1
    told = capsys.readouterr().out
    assert "zeros.py: wrong\n" in told
    assert "It returned zeros." in told
    recipe = told.split("attnspec show --python '")[1].split("'")[0]
    assert main(["debug", recipe, target("zeros")]) == 1


def test_several_are_ranked(shapes, capsys):
    assert main(["judge", target("zeros"), target("honest"), *shapes]) == 1
    told = capsys.readouterr().out
    assert told.index("honest.py: right") < told.index("zeros.py: wrong")


def test_the_document_is_json(shapes, capsys):
    assert main(["judge", target("honest"), *shapes, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "right"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Say what to judge"),
        (["./nowhere.py"], "nowhere.py"),
        ([target("honest"), "--forbid", "no.such.thing"], "--forbid no.such.thing: there is no such function"),
        ([target("honest"), "--sandbox", "no_such_program"], "no_such_program is not installed"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(shapes, capsys, words, says):
    assert main(["judge", *words, *shapes]) == 2
    assert says in capsys.readouterr().err


def test_a_file_of_shapes_that_is_none_is_told(tmp_path, capsys):
    path = tmp_path / "shapes.json"
    path.write_text("{")
    assert main(["judge", target("honest"), "--shapes", str(path)]) == 2
    assert "is no file of shapes" in capsys.readouterr().err
