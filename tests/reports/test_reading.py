"""Reports read back: a sound one as it is, any other one refused in a sentence that says what is wrong."""

import json

import pytest

import attnspec
from attnspec.base.errors import ReportError
from attnspec.cases import canonical_json
from attnspec.reports.formats import report_to_json
from attnspec.reports.written_reports import read_report


@pytest.fixture(scope="module")
def sound():
    return report_to_json(attnspec.validate("reference", select="documents/001/*", dtypes=["float64"]))


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "a.json"
        path.write_bytes(content if isinstance(content, bytes) else canonical_json(content).encode())
        return path

    return write


def test_a_sound_report_is_read_as_it_was_written(written, sound):
    assert read_report(written(sound)) == json.loads(canonical_json(sound))


def refusal(path):
    with pytest.raises(ReportError) as caught:
        read_report(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_report_that_was_cut_off_says_so(written, sound, share):
    text = canonical_json(sound).encode()
    assert "it seems to be cut off" in refusal(written(text[: int(share * len(text))]))


def test_a_report_that_lost_results_says_how_many(written, sound):
    reported = refusal(written({**sound, "results": sound["results"][1:]}))
    count = sound["count"]
    assert f"says {count} results at /count but holds {count - 1}: it was cut or edited" in reported
    assert "attnspec validate … --report a.json" in reported


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not valid JSON"),
        (b"[1, 2]", "does not hold a JSON object"),
        (b"\xff\xfe{}", "is not UTF-8 text (byte 0)"),
        (b"{}", "does not follow the report schema at /"),
        (b'{"a": NaN}', "holds the bare word NaN"),
        (b"[" * 100_000, "is not a report"),
        (b"9" * 10_000, "is not a report"),
    ],
)
def test_what_is_no_report_is_refused(written, content, sentence):
    assert sentence in refusal(written(content))


def test_a_damaged_field_is_named(written, sound):
    first, *others = sound["results"]
    document = {**sound, "results": [{**first, "status": "passed"}, *others]}
    assert "does not follow the report schema at /results/0/status" in refusal(written(document))


def test_a_missing_file_or_a_folder_is_said(tmp_path):
    assert "cannot be read (No such file or directory)" in refusal(tmp_path / "gone.json")
    assert "cannot be read (Is a directory)" in refusal(tmp_path)
