"""`attnspec show CASE --python`: a script that needs NumPy alone."""

import json
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.commands.python_script import MOST_LINES, python_script
from attnspec.contract import OPERATIONS
from attnspec.families.lookup import family_of

CASES = load_suite().cases


def script_of(case):
    return python_script(case, family_of(case.operation).formula)


FIRST_OF_PROFILE = {case.profile: case.id for case in reversed(CASES.values())}
FIRST_OF_OPERATION = {case.operation: case.id for case in reversed(CASES.values()) if case.rejects is None}

# Isolated: no user site, no environment, no folder of this checkout; NumPy's own folder is the only one added.
ALONE = """
import io, json, sys
from contextlib import redirect_stdout
sys.path.append(sys.argv[1])
for name in ("attnspec", "attnspec_reference", "ml_dtypes"):
    sys.modules[name] = None
printed = {}
for case, script in json.load(sys.stdin).items():
    with redirect_stdout(io.StringIO()) as stdout:
        exec(compile(script, f"the script of {case}", "exec"), {})
    printed[case] = stdout.getvalue()
json.dump(printed, sys.stdout)
"""


def executed(script):
    """Execute a script here; give what it prints."""
    printed = StringIO()
    with redirect_stdout(printed), np.errstate():
        exec(compile(script, "script", "exec"), {})
    return printed.getvalue()


def test_the_samples_cover_every_profile_and_operation():
    assert set(FIRST_OF_PROFILE) == {case.profile for case in CASES.values()}
    assert set(FIRST_OF_OPERATION) == set(OPERATIONS)


def test_the_scripts_run_where_there_is_no_attnspec():
    scripts = {
        case_id: script_of(CASES[case_id])
        for case_id in sorted({*FIRST_OF_PROFILE.values(), *FIRST_OF_OPERATION.values()})
    }
    assert [case_id for case_id, script in scripts.items() if "attnspec" in script] == []
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, str(Path(np.__file__).parents[1])],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    assert printed.keys() == scripts.keys()
    assert [case_id for case_id, reported in printed.items() if not reported] == []


@pytest.mark.parametrize("profile", sorted(FIRST_OF_PROFILE))
def test_every_script_is_short_and_reproduces_its_case(profile):
    for case in CASES.values():
        if case.profile != profile:
            continue
        script = script_of(case)
        assert len(script.splitlines()) <= MOST_LINES, case.id
        assert executed(script), case.id


@pytest.mark.parametrize("case_id", ["core/width_2", "causal/square_probe", "documents/003/two_heads"])
def test_a_script_fails_where_the_numbers_differ(case_id):
    script = script_of(CASES[case_id])
    assert "weights @" in script
    with pytest.raises(AssertionError):
        executed(script.replace("weights @", "1.001 * weights @"))


def test_a_script_spells_out_the_features_of_its_case_and_no_others():
    script = script_of(CASES["causal/square_probe"])
    assert "(j <= p)" in script
    for other in ("tanh", "sinks", "alibi", "mask", "past"):
        assert other not in script


def test_a_refusal_says_what_must_be_refused():
    refused = next(case for case in CASES.values() if case.rejects is not None)
    assert f"must refuse these inputs: {refused.rejects.reason}" in executed(script_of(refused))


def test_the_command_prints_it(capsys):
    assert main(["show", "core/width_2", "--python"]) == 0
    assert capsys.readouterr().out == script_of(CASES["core/width_2"])
