"""Pages of the table: what is committed is what the program writes, and what it says of results and defects."""

import json
from dataclasses import replace

import pytest

from attnspec_authoring.results import Count, Failure, Result, Witness, read_defects, read_implementations, read_results
from attnspec_authoring.results.page import pages, write_pages
from attnspec_authoring.results.stored import RESULTS

CASE = "documents/001/softmax_of_rows"


@pytest.fixture
def result():
    """Results of torch: three passes, one failure of the known defect, or others."""

    def make(**changes):
        return Result(
            name="torch",
            version="2.13.0+cpu",
            release="2.13.0",
            date="2026-11-29",
            command="python -m attnspec_authoring.third_party torch --version=2.13.0 --write",
            environment={"python": "3.11.7", "platform": "linux-x86_64", "numpy": "2.4.6"},
            suite={},
            conventions={},
            profiles=("documents",),
            dtypes=("float32",),
            not_run=0,
            left_out={},
            counts=(Count("softmax", "documents", "float32", 3, 1, 0, 0),),
            distributions=(),
            failures=(Failure(CASE, "float32", "fail", "output", 2.0, "sums_in_the_wrong_order", "It is 1."),),
            unsupported=(),
            searched=10,
            witnesses=(Witness("float32", "draw:softmax/1/5:float32", "output", 0.875),),
        )._replace(**changes)

    return make


def written(results, defects=()):
    return pages(results, defects, read_implementations())


def test_the_committed_pages_are_what_the_program_writes():
    texts = written(read_results(), read_defects())
    committed = {
        str(path.relative_to(RESULTS)): path.read_text("utf-8")
        for path in (RESULTS / "README.md", *RESULTS.glob("badges/*"), *RESULTS.glob("reports/*"))
    }
    assert committed == texts, "run python -m attnspec_authoring.results"


def test_a_row_counts_passes_known_defects_and_failures(result):
    text = written([result(counts=(Count("softmax", "documents", "float32", 1300, 2, 1, 0),))])["README.md"]
    [row] = [line for line in text.splitlines() if "[2.13.0](torch/2.13.0.json)" in line]
    assert "| . | 1,300 ~2 !1 | . | . |" in row


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "| . | 2026-11-29 |"),
        ({"not_run": 2058}, "| 2026-11-29, ended early, 2,058 not run |"),
        ({"command": "... --profile=documents --write"}, "| 2026-11-29, documents only |"),
    ],
)
def test_a_run_of_a_part_is_no_whole_one(result, changes, said):
    text = written([result(**changes)])["README.md"]
    assert text.count(said) == 1


def test_a_witness_is_a_case_that_runs_again(result):
    text = written([result()])["README.md"]
    assert "| torch 2.13.0 | float32 | 0.875 | `draw:softmax/1/5:float32` |" in text


def test_versions_are_compared(result):
    others = (Failure(case, "float64", "fail", None, 2.0, None, "") for case in ("documents/a", "core/b"))
    earlier = result(release="2.12.0", failures=(*result().failures, *others), profiles=("core", "documents"))
    text = written([result(counts=(Count("softmax", "documents", "float32", 5, 1, 0, 0),)), earlier])["README.md"]
    assert (
        "- `torch` 2.12.0 to 2.13.0: 1 results no longer go wrong (such as `documents/a` in float64), 0 newly do; +2"
        in text
    )


@pytest.mark.parametrize(
    ("known", "failed", "colour", "message"),
    [
        (0, 0, "brightgreen", "3 passed"),
        (1, 0, "yellowgreen", "3 passed, 1 by known defects"),
        (1, 2, "red", "3 passed, 1 by known defects, 2 failed"),
    ],
)
def test_a_badge_has_the_colour_of_what_came(result, known, failed, colour, message):
    counts = (Count("softmax", "documents", "float32", 3, known, failed, 0),)
    badge = json.loads(written([result(counts=counts)])["badges/torch.json"])
    assert (badge["color"], badge["message"], badge["label"]) == (colour, message, "attnspec: PyTorch 2.13.0")


def test_a_defect_without_a_link_has_a_report(result, defect):
    unreported, public = defect(), defect(id="another", link="https://example.org/1")
    texts = written([result()], [unreported, public])
    report = texts["reports/sums_in_the_wrong_order.md"]
    for part in (unreported.title, unreported.sentence, unreported.reproduction, unreported.measured, "It prints 2."):
        assert part in report
    assert "Seen in: PyTorch 2.13.0+cpu; Python 3.11.7, linux-x86_64." in report
    assert "reports/another.md" not in texts
    assert "1 of torch 2.13.0 | [ready to send](reports/sums_in_the_wrong_order.md)" in texts["README.md"]
    assert "[public](https://example.org/1)" in texts["README.md"]
    assert replace(public, link=None).report == "another.md"


def test_pages_of_what_is_gone_are_removed(tmp_path):
    (tmp_path / "defects.json").write_text('{"format": 1, "defects": []}', "utf-8")
    (tmp_path / "badges").mkdir()
    (tmp_path / "badges" / "gone.json").write_text("{}", "utf-8")
    write_pages(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["README.md", "defects.json"]
