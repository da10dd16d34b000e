"""Which cases notice the wrong implementations of blind batches, as it is kept beside the catalogue."""

import json
import random
import shutil
import sys
from base64 import b64encode
from pathlib import Path
from zlib import compress

import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.contract import OPERATIONS
from attnspec.specification import clauses
from attnspec_authoring.proof import Tried, judged_document, judged_files, try_judged
from attnspec_authoring.strangers import unpacked
from attnspec_mistakes.labelled_mistakes import JUDGED, judged_cases, judged_implementations

GOLDEN = Path(__file__).parents[4] / "golden"
KEPT = ("batch_7", "batch_8", "batch_9", "batch_10")
"""Batches 11 and 12 stay out: they show how well the diagnosis does with what it never saw."""
ADVICE = f"write it anew: attnspec mistakes {' '.join(f'--judged {name}' for name in KEPT)}"
NUMBER_OF_IMPLEMENTATIONS, SEED = 12, 7


def kept():
    return {entry.id: entry for operation in OPERATIONS for entry in judged_implementations(operation)}


def batch(folder, text, clause="softmax.definition"):
    """A batch of one file."""
    (folder / "wrong").mkdir(parents=True)
    (folder / "wrong" / "001_one.py").write_text(text)
    judged = {"wrong/001_one.py": {"accepted": [clause], "agreed": True}}
    (folder / "clauses.json").write_text(json.dumps(judged))
    return folder


def batch_of_softmax(folder, factor):
    """A batch of one softmax, which multiplies by what the module of the batch says."""
    text = (
        "import sys\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "sys.path.insert(0, str(Path(__file__).parents[1]))\n"
        "from base import FACTOR\n"
        "def softmax(x, axis=-1):\n"
        "    shifted = np.exp(x - x.max(axis, keepdims=True))\n"
        "    return FACTOR * shifted / shifted.sum(axis, keepdims=True)\n"
    )
    made = batch(folder, text)
    (folder / "base.py").write_text(f"FACTOR = {factor}\n")
    return made


def test_each_implementation_meets_the_modules_of_its_own_batch(few, tmp_path):
    files = judged_files([batch_of_softmax(tmp_path / "batch_1", 1), batch_of_softmax(tmp_path / "batch_2", 2)])
    path = [*sys.path]
    right, wrong = try_judged(files, few, processes=1)
    assert right == Tried("batch_1/001_one", ("softmax.definition",), {"softmax": frozenset()})
    assert wrong.noticed == {"softmax": {"layout/softmax_columns", "layout/softmax_large"}}
    assert sys.path == path
    assert "base" not in sys.modules


@pytest.mark.parametrize(("wrong", "cases"), [("weights", set()), ("output", {"causal/top_steps"})])
def test_what_nobody_owes_speaks_for_no_clause(few, tmp_path, wrong, cases):
    shutil.copytree(GOLDEN / "causal", few / "causal", ignore=lambda _, names: {*names} - {"top_steps.json"})
    text = (
        "from attnspec_reference import scaled_dot_product_attention as right\n"
        "def scaled_dot_product_attention(**arguments):\n"
        "    attention = right(**arguments)\n"
        "    returned = {'output': attention.output, 'weights': attention.weights}\n"
        f"    return returned | {{'{wrong}': 2 * returned['{wrong}']}}\n"
    )
    (tried,) = try_judged(judged_files([batch(tmp_path / "batch_1", text, "sdpa.weights")]), few, processes=1)
    assert tried.noticed == {"scaled_dot_product_attention": cases}


@pytest.mark.parametrize(("declared", "cases"), [(True, set()), (False, {"nonfinite/hidden_value_alone"})])
def test_the_conventions_of_an_implementation_are_heard(few, tmp_path, declared, cases):
    shutil.copytree(
        GOLDEN / "nonfinite", few / "nonfinite", ignore=lambda _, names: {*names} - {"hidden_value_alone.json"}
    )
    text = (
        "from attnspec_mistakes import CATALOGUE\n"
        "mistake, = (mistake for mistake in CATALOGUE if mistake.id == 'sdpa.excluded_value_leaks')\n"
        "def scaled_dot_product_attention(**arguments):\n"
        "    return mistake.function(**arguments).output\n"
    )
    convention = "conventions = {'masked_nonfinite': 'propagates'}\n" if declared else ""
    folder = batch(tmp_path / "batch_1", text + convention, "sdpa.masked_nonfinite")
    (tried,) = try_judged(judged_files([folder]), few, processes=1)
    assert tried.noticed == {"scaled_dot_product_attention": cases}


def test_bits_stand_for_cases_in_the_order_of_their_ids(few):
    tried = Tried("batch_1/one", ("softmax.definition",), {"softmax": frozenset(["layout/softmax_large"])})
    unnoticed = Tried("batch_1/two", ("softmax.definition",), {"softmax": frozenset()})
    # Two cases, the bits of the first one foremost: 01.
    noticed = b64encode(compress(b"\x40", level=9)).decode()
    assert judged_document([tried, unnoticed], few)["operations"] == {
        "softmax": {
            "cases": ["layout/softmax_columns", "layout/softmax_large"],
            "judged": {"batch_1/one": ["softmax.definition"]},
            "noticed": noticed,
        }
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judged", "/nowhere"], "--judged /nowhere: there is no clauses.json in it"),
        (["--judged", "/nowhere", "--matrix"], "only --golden and --processes go with it"),
    ],
)
def test_what_cannot_be_judged_is_reported_in_a_sentence(arguments, words, capsys):
    assert main(["mistakes", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_every_case_and_every_judged_implementation_is_in_the_file():
    judged = {f"{path.parents[1].name}/{path.stem}": clauses for path, clauses in judged_files(map(Path, KEPT)).items()}
    assert {entry.id: entry.clauses for entry in kept().values()}.items() <= judged.items(), ADVICE
    assert len(kept()) > 0.8 * len(judged), ADVICE
    operations = [operation for operation in OPERATIONS if judged_implementations(operation)]
    cases = {case.id for case in load_suite().cases.values() if case.operation in operations}
    assert cases == set().union(*map(judged_cases, operations)), ADVICE
    assert {clause for entry in kept().values() for clause in entry.clauses} <= clauses().keys()
    assert JUDGED.stat().st_size < 250_000


def test_of_what_nobody_judged_nothing_is_known():
    assert judged_implementations("no_such_operation") == ()
    assert judged_cases("no_such_operation") == frozenset()


@pytest.mark.proof
def test_the_file_holds_what_the_cases_notice():
    entries = kept()
    chosen = random.Random(SEED).sample(sorted(entries), NUMBER_OF_IMPLEMENTATIONS)
    files = {unpacked(name) / "wrong" / f"{stem}.py": () for name, stem in (entry.split("/") for entry in chosen)}
    for tried in try_judged(files, processes=1):
        assert frozenset().union(*tried.noticed.values()) == entries[tried.id].cases, ADVICE
