"""The tutorial runs in a Jupyter kernel, cell by cell: what it shows, what completion offers, what an error says."""

import html
import json
import re
from pathlib import Path

import pytest

import attnspec

nbclient = pytest.importorskip("nbclient", reason="the tutorial needs a kernel: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="the tutorial needs a kernel: pip install ipykernel")

TUTORIAL = Path(__file__).parents[3] / "spec" / "guides" / "tutorial.ipynb"
NOTEBOOK = json.loads(TUTORIAL.read_text(encoding="utf-8"))


def test_no_output_is_kept():
    codes = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in codes] == [([], None)] * len(codes)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The tutorial with its outputs; and, of the same kernel, a completion, and an error."""
    import nbformat
    from jupyter_core.utils import run_sync

    notebook = nbformat.read(TUTORIAL, as_version=4)
    wrong = nbformat.v4.new_code_cell("attnspec.validate(lambda a, b: a)", metadata={"tags": ["raises-exception"]})
    notebook.cells.append(wrong)
    folder = tmp_path_factory.mktemp("tutorial")
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    with client.setup_kernel():
        for position, cell in enumerate(notebook.cells):
            client.execute_cell(cell, position)

        async def completed():
            reply = await client.kc.complete("attnspec.", reply=True, timeout=60)
            return reply["content"]["matches"]

        return notebook.cells, run_sync(completed)()


def shown(cells):
    """The words of each output, as they are read."""
    found = [output["data"]["text/html"] for cell in cells for output in cell.get("outputs", ()) if "data" in output]
    without_titles = [re.sub(r"<title>.*?</title>", "", each) for each in found]
    return found, [" ".join(html.unescape(re.sub("<[^>]+>", " ", each)).split()) for each in without_titles]


def test_every_cell_runs_and_shows_what_the_text_says(ran):
    cells, _ = ran
    fragments, (wrong, mended, declared, case, judged) = shown(cells)
    verdict = r"✗ attention does not conform: \d+ of \d+ went wrong, \d+ passed\."
    assert re.match(rf"{verdict} \d+ of \d+ went wrong: \d+ .*?The scores were not scaled\.", wrong)
    assert "Guessed: it is scaled_dot_product_attention" in wrong
    assert fragments[0].count("<svg") == 3
    assert "If it is meant so, declare it, and none of them is left:" in mended
    assert declared.startswith("✓ attention conforms in part: ")
    assert case.startswith("core/plain of scaled_dot_product_attention in float64: ")
    assert judged.startswith("✓ ./kernel.py:attention: right")
    assert not any(re.search(r"--[a-z]", said) for said in (wrong, mended, declared, judged))
    assert not any("<script" in fragment for fragment in fragments)


def test_completion_shows_the_public_names_and_no_others(ran):
    _, completed = ran
    names = {match.removeprefix("attnspec.") for match in completed}
    assert names == {name for name in attnspec.__all__ if not name.startswith("_")}


def test_an_error_is_one_sentence_about_keywords(ran):
    cells, _ = ran
    (output,) = cells[-1]["outputs"]
    assert output["output_type"] == "error"
    assert output["evalue"].startswith("<lambda>(a, b): which operation it is cannot be guessed.")
    assert "operation=OPERATION" in output["evalue"]
    assert output["traceback"] == [f"{output['ename']}: {output['evalue']}"]
