"""Pictures of the operations: each page has its own, which is what the program draws today."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from attnspec.contract import OPERATIONS
from attnspec_authoring import pictures
from attnspec_authoring.pictures.__main__ import main
from attnspec_authoring.pictures.drawing import attending, heat_map, picture
from attnspec_authoring.pictures.first_case import first_case

ROOT = Path(__file__).parents[4]
DRAWN = pictures.drawn()
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_the_page_shows_the_picture_that_is_drawn_today(operation):
    path = pictures.file_of(operation.name)
    assert path.read_text("utf-8") == DRAWN[operation.name], "run `python -m attnspec_authoring.pictures`"
    page = (ROOT / "spec" / "operations" / operation.family / f"{operation.name}.md").read_text("utf-8")
    (description,) = re.findall(rf"^!\[(.+)\]\(../../pictures/{operation.name}\.svg\)$", page, re.MULTILINE)
    assert ElementTree.fromstring(DRAWN[operation.name]).get("aria-label") == description


def test_pictures_are_small_and_every_element_lies_inside():
    for operation, text in DRAWN.items():
        root = ElementTree.fromstring(text)
        width, height = (float(root.get(side)) for side in ("width", "height"))
        assert len(text) < 20_000, operation
        assert width < 1100, operation
        for group in root.iter(f"{SVG}g"):
            start = float(re.match(r"translate\(([\d.]+) ", group.get("transform"))[1])
            for rectangle in group.iter(f"{SVG}rect"):
                assert start + float(rectangle.get("x")) + float(rectangle.get("width")) <= width, operation
                assert float(rectangle.get("y")) + float(rectangle.get("height")) + 8 <= height, operation


def test_no_picture_is_of_no_operation():
    assert {path.stem for path in pictures.FOLDER.iterdir()} == {*OPERATIONS}


def test_the_larger_a_number_the_fuller_its_tint():
    part = heat_map("x", np.array([[1.0, -4.0, 0.0, 2.0]]))
    tints = re.findall(r'class="(p|n)" opacity="([\d.]+)"', "".join(part.elements))
    assert tints == [("p", "0.15"), ("n", "0.6"), ("p", "0.3")]


def test_a_line_is_as_thick_as_its_weight_and_none_leads_where_nothing_is_attended():
    part = attending("", np.array([[0.75, 0.25, 0.0]]), ["q"], ["a", "b", "c"])
    assert re.findall(r'stroke-width="([\d.]+)"', "".join(part.elements)) == ["5.8", "2.2"]


def test_a_description_is_escaped():
    assert 'aria-label="a &lt; b"' in picture("a < b", heat_map("x", np.ones((1, 1))))


def test_an_operation_that_nobody_drew_is_shown_by_its_first_case():
    text = first_case("combine_heads")
    assert ElementTree.fromstring(text).get("aria-label").startswith("combine_heads: ")
    assert ">x</text>" in text
    assert ">output</text>" in text


def test_the_command_writes_what_differs_and_removes_what_is_of_no_operation(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    monkeypatch.setattr("attnspec_authoring.pictures.__main__.FOLDER", tmp_path)
    (tmp_path / "gone.svg").write_text("")
    main()
    out = capsys.readouterr().out.splitlines()
    assert out == ["removed: gone.svg", *(f"written: {operation}.svg" for operation in OPERATIONS)]
    main()
    assert capsys.readouterr().out == ""
