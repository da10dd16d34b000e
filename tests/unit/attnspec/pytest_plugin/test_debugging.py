"""The debugger in runs of pytest with this plugin: what it stops in, and what is at hand there."""

import pytest

pytest_plugins = ["pytester"]

ROWS = "attnspec/documents::documents/001/softmax_of_rows[float64]"

RAISES = """
import numpy as np

def softmax(x, axis=-1):
    return of_rows(x, "a note")

def of_rows(x, note):
    raise ValueError("not today")
"""


@pytest.fixture
def raises(pytester):
    pytester.makepyfile(raises=RAISES)


def test_it_stops_in_the_frame_that_raised(run, raises):
    result = run("--attnspec=raises.py", ROWS, "--pdb", typed=["p note, x.shape", "up", "p axis", "continue"])
    result.stdout.fnmatch_lines(
        ["*> *raises.py(7)of_rows()", "*('a note', (3, 4))", "*> *raises.py(4)softmax()", "(Pdb) 1", "*1 failed*"]
    )


def test_what_the_user_raised_is_shown_from_his_first_frame_on(run, raises):
    result = run("--attnspec=raises.py", ROWS)
    text = result.stdout.str()
    assert "attnspec/targets" not in text
    assert "pluggy/" not in text
    result.stdout.fnmatch_lines(
        [
            "raises.py:4: in softmax",
            "raises.py:7: in of_rows",
            "E   ValueError: not today",
            "-* attnspec -*",
            "raised ValueError: not today (line 7 of raises.py)",
            f"Debug it: pytest --attnspec=raises.py '{ROWS.replace('[', '?').replace(']', '?')}' --pdb",
            "softmax: 1 went wrong",
            "  1 of 1 raised ValueError: not today (line 7 of raises.py)",
            "FAILED *softmax_of_rows?float64? - Value*",
        ]
    )
    whole = run("--attnspec=raises.py", ROWS, "--full-trace").stdout.str()
    assert "attnspec/targets" in whole
    assert "E   ValueError" not in run("--attnspec=raises.py", ROWS, "--tb=no").stdout.str()
    assert "note       = 'a note'" in run("--attnspec=raises.py", ROWS, "--showlocals").stdout.str()


def test_an_exception_that_pytest_would_take_for_its_own_is_a_failure(run, pytester):
    pytester.makepyfile(
        skips="import pytest\ndef softmax(x, axis=-1):\n    pytest.skip('no')\n",
        exits="import pytest\ndef softmax(x, axis=-1):\n    pytest.exit('no', returncode=0)\n",
        unittests="import unittest\ndef softmax(x, axis=-1):\n    raise unittest.SkipTest('no')\n",
        leaves="import sys\ndef softmax(x, axis=-1):\n    sys.exit(0)\n",
    )
    for target in ("skips", "exits", "unittests", "leaves"):
        result = run(f"--attnspec={target}.py", ROWS)
        result.assert_outcomes(failed=1)
        assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_at_a_wrong_number_everything_is_at_hand(run):
    typed = [
        "p sorted(inputs), attributes",
        "p (abs(got['output'] - expected['output']) == error['output']).all()",
        "p (error['output'] > tolerance['output']).any()",
        "p (call()['output'] == got['output']).all()",
        "p call(x=inputs['x'][:2])['output'].shape",
        "quit",
    ]
    result = run("--attnspec=wrong.py", ROWS, "--pdb", typed=typed)
    result.stdout.fnmatch_lines(
        [
            "Here are inputs, attributes, expected, got, error and tolerance, by name*",
            "*raise wrong*call() calls it again",
            "(Pdb) (*x*axis*1*)",
            "(Pdb) *True*",
            "(Pdb) *True*",
            "(Pdb) *True*",
            "*(2, 4)",
        ]
    )


def test_in_a_call_from_there_the_users_exception_is_his_own(run, pytester):
    pytester.makepyfile(
        narrow="def softmax(x, axis=-1):\n    if len(x) == 2:\n        raise KeyError('two')\n    return x\n"
    )
    result = run("--attnspec=narrow.py", ROWS, "--pdb", typed=["call(x=inputs['x'][:2])", "quit"])
    result.stdout.fnmatch_lines(["*KeyError: 'two'"])


def test_a_layout_is_no_hindrance(run, pytester):
    pytester.makepyfile(
        own="import numpy as np\n"
        "def scaled_dot_product_attention(query, key, value):\n    return np.zeros_like(query)\n"
    )
    select = "attnspec/documents::documents/002/attention_unmasked[float64]"
    typed = ["p call()['output'].shape == expected['output'].shape", "quit"]
    result = run("--attnspec=own.py", "--attnspec-layout=bshe", select, "--pdb", typed=typed)
    result.stdout.fnmatch_lines(["*True"])


def test_a_program_is_called_again_too(run):
    result = run("--attnspec=wrong.py", "--attnspec-timeout=60", ROWS, "--pdb", typed=["p sorted(call())", "quit"])
    result.stdout.fnmatch_lines(["*?'output'?"])


def test_tracing_begins_in_the_users_first_line(run):
    result = run("--attnspec=right.py", ROWS, "--trace", typed=["next", "next", "p exponentials.shape", "continue"])
    result.stdout.fnmatch_lines(["*> *right.py(5)softmax()", "*> *right.py(7)softmax()", "(Pdb) (3, 4)", "*1 passed*"])
    assert result.stdout.str().count("PDB: a call of softmax") == 1


def test_a_program_cannot_be_traced(run):
    result = run("--attnspec=right.py", "--attnspec-timeout=60", ROWS, "--trace")
    result.stdout.fnmatch_lines(["attnspec: --trace steps through this process alone; leave out*"])


@pytest.mark.parametrize("options", [(), ("-s",)])
def test_a_breakpoint_stops_and_quitting_ends_the_run(run, pytester, options):
    pytester.makepyfile(stops="def softmax(x, axis=-1):\n    note = 'here'\n    breakpoint()\n    return x\n")
    result = run("--attnspec=stops.py", "--attnspec-profile=documents", *options, typed=["p note", "quit"])
    result.stdout.fnmatch_lines(["*'here'", "!!* *Exit: Quitting debugger !!*"])
    assert result.stdout.str().count("PDB set_trace") == 1
