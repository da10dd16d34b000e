"""The house stays light: no figure of ``tools/benchmarks/house.py`` exceeds its ceiling in ``house_bounds.toml``."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "tools" / "benchmarks"


def test_no_figure_exceeds_its_ceiling():
    bounds = tomllib.loads((BENCHMARKS / "house_bounds.toml").read_text(encoding="utf-8"))
    command = [sys.executable, str(BENCHMARKS / "house.py"), "--json"]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["figures"]
    assert figures.keys() == bounds.keys()
    nothing = [
        bounds[name]["title"] for name, number in figures.items() if not number and bounds[name].get("goal") != 0
    ]
    assert not nothing, f"Nothing was counted of: {', '.join(nothing)}"
    over = [
        f"{bounds[name]['title']}: {number:,}, at most {bounds[name]['ceiling']:,}"
        for name, number in figures.items()
        if number > bounds[name]["ceiling"]
    ]
    assert not over, "\n".join(["Merge, inline or take away; a ceiling only comes down.", *over])
