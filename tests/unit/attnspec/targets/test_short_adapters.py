"""The adapters in the guide: complete as they stand there, short, and right but for what the library does wrong."""

import re
from pathlib import Path

import pytest

import attnspec
from attnspec_authoring.results import read_defects

GUIDE = Path(__file__).parents[4] / "spec" / "guides" / "adapters.md"
BLOCKS = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL))
NEEDS = {"mine": "numpy", "masked": "numpy", "attention_mlx": "mlx.core", "attention_paddle": "paddle"}
BUILT_IN = {"mine": "", "masked": "", "attention_mlx": "mlx", "attention_paddle": "paddle"}
MOST_LINES = 30


def test_every_example_is_known():
    assert set(BLOCKS) == set(NEEDS)


@pytest.mark.parametrize("name", BLOCKS)
def test_an_adapter_and_its_declaration_are_short(name):
    assert len([line for line in BLOCKS[name].splitlines() if line.strip()]) <= MOST_LINES


@pytest.mark.parametrize("name", BLOCKS)
def test_an_example_is_right_as_it_stands(name, tmp_path):
    pytest.importorskip(NEEDS[name])
    path = tmp_path / f"{name}.py"
    path.write_text(BLOCKS[name], "utf-8")
    report = attnspec.validate(str(path), profile=["alibi", "cache", "varlen"], probes=False)
    passed = [result for result in report.results if result.status == "pass"]
    assert len(passed) > len(report.results) / 2
    known = [defect for defect in read_defects() if BUILT_IN[name] in defect.implementations]
    wrong = [(result.case.id, result.dtype, result.verdict.message) for result in report.results if result.is_wrong]
    assert [entry for entry in wrong if not any(entry[0] in defect.cases for defect in known)] == []
