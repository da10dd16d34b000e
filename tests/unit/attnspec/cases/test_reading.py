"""Reading golden folders: whatever is damaged is named, with the position and a sentence that helps."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnspec.base.errors import FixtureError, UsageError
from attnspec.cases import check_file, load_suite, read_index, schema_validator
from attnspec.cases.reading import check_against_schema
from attnspec.command_line import main

CONTEXT = "documents/003/context_vector"
REFUSAL = "documents/003/context_vector_width_mismatch"
BOOLEAN = "documents/002/causal_mask_boolean"


def replaced(old: bytes, new: bytes):
    def change(content: bytes) -> bytes:
        assert content.count(old) >= 1
        return content.replace(old, new, 1)

    return change


BAD_BYTES = {
    "malformed": (replaced(b'"clauses": [', b'"clauses" ['), ["not valid JSON", "line 3", "column 12"]),
    "cut in the middle": (lambda content: content[: len(content) // 2], ["not valid JSON", "cut off"]),
    "cut in a string": (lambda content: content[: content.index(b"Question 1, In") + 5], ["not valid JSON", "cut off"]),
    "cut after é": (lambda content: '{"title": "ééé", "id"'.encode(), ["not valid JSON", "cut off"]),
    "cut at the last brace": (lambda content: content.rstrip()[:-1], ["not valid JSON", "cut off"]),
    "empty": (lambda content: b"", ["not valid JSON", "cut off"]),
    "not UTF-8": (replaced(b"context", b"context\xff"), ["not UTF-8", "byte"]),
    "byte order mark": (lambda content: b"\xef\xbb\xbf" + content, ["not valid JSON", "BOM"]),
    "two documents": (lambda content: content + content, ["not valid JSON", "Extra data"]),
    "duplicate key": (replaced(b'{\n "attributes"', b'{\n "format": 1,\n "attributes"'), ["'format'", "twice"]),
    "bare NaN": (replaced(b"0.45", b"NaN"), ["the bare word NaN", "string"]),
    "bare -Infinity": (replaced(b"0.45", b"-Infinity"), ["the bare word -Infinity", '"inf"']),
    "beyond float64": (replaced(b"0.45", b"4.5e400"), ["4.5e400", "beyond float64"]),
    "endless integer": (replaced(b"0.45", b"9" * 5000), ["thousands of digits"]),
    "nested too deeply": (lambda content: b"[" * 100_000, ["nested too deeply"]),
    "not an object": (lambda content: b"[]\n", ["does not hold a JSON object"]),
}


def without(key):
    return lambda document: document.pop(key)


WITH_DATA = (
    "/inputs",
    "/inputs/decoder_state",
    "/inputs/decoder_state/data",
    "/inputs/decoder_state/generator",
    "/expected",
    "/expected/float32",
    "/expected/float32/context/data",
    "/data",
)
"""Pointers of a case at which data stand, below which they do, and at which they may not."""


def at(pointer: str, value):
    """Set the value that a JSON pointer names."""

    def change(document) -> None:
        *parents, last = pointer.strip("/").split("/")
        for part in parents:
            document = document[part]
        document[last] = value

    return change


BAD_DOCUMENTS = {
    "missing key": (without("title"), "at /:", "'title' is a required property"),
    "nothing expected": (without("expected"), "at /:", "exactly one of expected, rejects, properties must be there"),
    "expected and refused": (
        at("/rejects", {"reason": "Never.", "twin": CONTEXT}),
        "at /:",
        "exactly one of expected, rejects, properties must be there",
    ),
    "unknown key": (at("/colour", 1), "at /:", "'colour' was unexpected"),
    "wrong type": (at("/revision", "1"), "at /revision:", "'1' is not of type 'integer'"),
    "unknown format": (at("/format", 2), "at /format:", "1 was expected"),
    "unknown operation": (at("/operation", "atention"), "at /operation:", "there is no operation 'atention'"),
    "unknown dtype": (at("/inputs/decoder_state/dtype", "float8"), "at /inputs/decoder_state/dtype:", "'float8'"),
    "a word among numbers": (
        at("/inputs/decoder_state/data", [0.45, "x", -0.88, 0.67]),
        "at /inputs/decoder_state/data/1:",
        "'x' is not what belongs here",
    ),
    "too few numbers": (
        at("/inputs/decoder_state/data", [0.45, 0.11, -0.88]),
        "at /inputs/decoder_state:",
        "the data have the shape [3], but 'shape' says [4]",
    ),
    "unequal rows": (
        at("/inputs/encoder_states/data", [[1.0], [1.0, 2.0]]),
        "at /inputs/encoder_states:",
        "unequal lengths",
    ),
    "expected does not fill": (
        at("/expected/float32/context/shape", [2, 3]),
        "at /expected/float32/context:",
        "the data have the shape [4], but 'shape' says [2, 3]",
    ),
    "truth among numbers": (
        at("/expected/float64/context/data", [True, 0.1, 0.2, 0.3]),
        "at /expected/float64/context:",
        "the data hold a JSON true or false",
    ),
    "unknown input": (
        at("/inputs/encoder_state", {"dtype": "float64", "shape": [0], "data": []}),
        "at /inputs/encoder_state:",
        "context_vector has no such argument; it has decoder_state, encoder_states",
    ),
    "unknown attribute": (at("/attributes/scal", 1.0), "at /attributes/scal:", "it has scale"),
    "missing input": (lambda document: document["inputs"].pop("decoder_state"), "at /inputs:", "needs 'decoder_state'"),
    "no values for a dtype": (at("/dtypes", ["float64", "float16"]), "at /expected:", "no values for float16"),
    "unknown output": (
        lambda document: document["expected"]["float64"].update(contxt=document["expected"]["float64"]["weights"]),
        "at /expected/float64/contxt:",
        "there are context, weights, scores, raw_scores",
    ),
    "first output missing": (
        lambda document: document["expected"]["float32"].pop("context"),
        "at /expected/float32:",
        "the output 'context', which is required, is missing",
    ),
    "wrong profile": (at("/profile", "attention"), "at /profile:", "'documents'"),
    "changed argument, but not how": (
        at("/changed_argument", {"name": "encoder_states"}),
        "at /changed_argument:",
        "exactly one of reversed, value must be there",
    ),
    "changed argument in two ways": (
        at("/changed_argument", {"name": "encoder_states", "reversed": True, "value": 2.0}),
        "at /changed_argument:",
        "exactly one of reversed, value must be there",
    ),
    "changed argument not reversed": (
        at("/changed_argument", {"name": "encoder_states", "reversed": False}),
        "at /changed_argument/reversed:",
        "True was expected",
    ),
    "an attribute in reverse": (
        at("/changed_argument", {"name": "scale", "reversed": True}),
        "at /changed_argument/name:",
        "only an input of the case can be reversed; there are decoder_state, encoder_states",
    ),
    "an input of which the reverse is the same": (
        lambda document: (
            at("/changed_argument", {"name": "decoder_state", "reversed": True})(document),
            at("/inputs/decoder_state/data", [0.5, 0.25, 0.25, 0.5])(document),
        ),
        "at /changed_argument/reversed:",
        "the reverse of 'decoder_state' along every axis is 'decoder_state' itself",
    ),
    "another value of an attribute that is not stated": (
        at("/changed_argument", {"name": "scale", "value": 2.0}),
        "at /changed_argument/name:",
        "only an attribute of the case can get a value; there are none",
    ),
    "the same value of an attribute": (
        lambda document: (
            at("/attributes/scale", 2.0)(document),
            at("/changed_argument", {"name": "scale", "value": 2.0})(document),
        ),
        "at /changed_argument/value:",
        "'scale' has this value in the case itself",
    ),
    "a refusal with a changed argument": (
        lambda document: (
            without("expected")(document),
            at("/rejects", {"reason": "Never.", "twin": CONTEXT})(document),
            at("/changed_argument", {"name": "encoder_states", "reversed": True})(document),
        ),
        "at /changed_argument:",
        "a case that must be refused has no output that could change",
    ),
}


@pytest.fixture(params=["with an index", "without an index"])
def folder(request, golden):
    """The same folder twice: every damage is found by digest and by schema, and reported alike."""
    if request.param == "without an index":
        golden.index.unlink()
    return golden


def test_a_sound_folder_is_read(folder) -> None:
    suite = load_suite(folder.folder)
    assert list(suite.cases) == [BOOLEAN, CONTEXT, REFUSAL]
    assert suite.counterparts == {}
    assert suite.cases[REFUSAL].rejects.counterpart == CONTEXT
    assert suite.cases[CONTEXT].golden("float64")["context"].shape == (4,)
    assert suite.cases[BOOLEAN].runs == ("any",)
    assert suite.cases[BOOLEAN].golden("any")["output"].dtype == bool


@pytest.mark.parametrize("damage", BAD_BYTES)
def test_damaged_bytes(folder, damage) -> None:
    change, words = BAD_BYTES[damage]
    path = folder.path()
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FixtureError) as raised:
        load_suite(folder.folder)
    for word in [str(path), *words]:
        assert word in str(raised.value)


@pytest.mark.parametrize("damage", BAD_DOCUMENTS)
def test_damaged_documents(folder, damage) -> None:
    change, pointer, words = BAD_DOCUMENTS[damage]
    folder.edit(change)
    with pytest.raises(FixtureError) as raised:
        load_suite(folder.folder)
    for word in (str(folder.path()), pointer, words):
        assert word in str(raised.value)
    assert len(str(raised.value)) < 500 + len(str(folder.path()))


@pytest.mark.parametrize("damage", BAD_DOCUMENTS)
def test_an_index_that_vouches_for_nonsense_hides_nothing_from_check(golden, damage, capsys) -> None:
    change, pointer, words = BAD_DOCUMENTS[damage]
    golden.edit(change)
    golden.vouch()
    for arguments in ([str(golden.path())], ["--golden", str(golden.folder)]):
        assert main(["check", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        for word in ("attnspec: ", str(golden.path()), pointer, words):
            assert word in captured.err


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_cut_anywhere_is_said_to_be_cut(golden, data) -> None:
    path = golden.path()
    whole = (golden.folder / "whole").read_bytes() if (golden.folder / "whole").exists() else path.read_bytes()
    (golden.folder / "whole").write_bytes(whole)
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole.rstrip()) - 1))])
    with pytest.raises(FixtureError, match=r"context_vector\.json is not valid JSON .*cut off"):
        load_suite(golden.folder)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_is_noticed(golden, data) -> None:
    path = golden.path()
    whole = (golden.folder / "whole").read_bytes() if (golden.folder / "whole").exists() else path.read_bytes()
    (golden.folder / "whole").write_bytes(whole)
    index = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[index]))
    path.write_bytes(whole[:index] + bytes([byte]) + whole[index + 1 :])
    with pytest.raises(FixtureError, match=r"context_vector\.json"):
        load_suite(golden.folder)


def test_one_changed_digit_is_noticed_by_its_digest(golden) -> None:
    path = golden.path()
    path.write_bytes(replaced(b"0.09578693567", b"0.09578693568")(path.read_bytes()))
    with pytest.raises(FixtureError) as raised:
        load_suite(golden.folder)
    for word in (str(path), str(golden.index), "SHA-256 differs", "attnspec regenerate"):
        assert word in str(raised.value)


def test_check_compares_one_file_with_the_digest_that_its_folder_has(golden, capsys, monkeypatch) -> None:
    path = golden.path()
    path.write_bytes(replaced(b"0.09578693567", b"0.09578693568")(path.read_bytes()))
    assert main(["check", "--golden", str(golden.folder)]) == 2
    sentence = capsys.readouterr().err
    assert "SHA-256 differs" in sentence
    assert main(["check", str(path)]) == 2
    assert capsys.readouterr().err == sentence
    monkeypatch.chdir(path.parent)
    assert main(["check", f"../{path.parent.name}/{path.name}"]) == 2
    assert "SHA-256 differs" in capsys.readouterr().err


@pytest.mark.parametrize("own_folder", [True, False], ids=["--golden", "shipped"])
def test_check_compares_a_copy_by_its_id(golden, tmp_path, capsys, own_folder) -> None:
    apart = tmp_path / "apart" / "a_copy.json"
    apart.parent.mkdir()
    shutil.copy(golden.path(), apart)
    words = ["check", str(apart), *(["--golden", str(golden.folder)] if own_folder else [])]
    assert main(words) == 0
    assert capsys.readouterr().out == "1 file is sound.\n"
    apart.write_bytes(replaced(b"0.09578693567", b"0.09578693568")(apart.read_bytes()))
    assert main(words) == 2
    sentence = capsys.readouterr().err
    assert f"a_copy.json holds the id '{CONTEXT}' at /id, and is not the file that" in sentence


def test_check_says_that_a_file_that_no_index_names_has_no_digest(golden, tmp_path, capsys) -> None:
    apart = tmp_path / "apart" / "context_vector.json"
    apart.parent.mkdir()
    apart.write_bytes(golden.path().read_bytes().replace(f'"id": "{CONTEXT}"'.encode(), b'"id": "documents/003/own"'))
    assert main(["check", str(apart), str(golden.path())]) == 0
    assert capsys.readouterr().out == "2 files are sound, 1 without a digest, as no index names it.\n"
    (tmp_path / "index.json").write_text('{"pages": ["apart"]}')
    assert main(["check", str(apart)]) == 0
    assert capsys.readouterr().out == "1 file is sound, 1 without a digest, as no index names it.\n"


def test_check_of_one_file_that_its_index_does_not_name(golden, capsys) -> None:
    added = golden.path("documents/003/added")
    added.write_bytes(golden.path().read_bytes().replace(f'"id": "{CONTEXT}"'.encode(), b'"id": "documents/003/added"'))
    for arguments in ([str(added)], ["--golden", str(golden.folder)]):
        assert main(["check", *arguments]) == 2
        assert f"{added} is not named in {golden.index}" in capsys.readouterr().err


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(("inf", "-inf", "nan", "x")),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(("a", "data")), values, max_size=2),
    max_leaves=6,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pointer=st.sampled_from(WITH_DATA), value=JSON_VALUES)
def test_the_schema_decides_of_data_as_of_all_else(golden, pointer, value) -> None:
    document = json.loads(golden.path().read_bytes())
    at(pointer, value)(document)
    if schema_validator("case").is_valid(document):
        check_against_schema(golden.path(), document, "case")
        return
    with pytest.raises(FixtureError, match="does not follow the case schema at /"):
        check_against_schema(golden.path(), document, "case")


def test_a_copied_file_has_an_id_that_is_used_already(golden) -> None:
    copy = golden.path("documents/003/copied")
    shutil.copy(golden.path(), copy)
    with pytest.raises(FixtureError) as raised:
        load_suite(golden.folder)
    for word in (str(copy), "at /id", repr(CONTEXT), f"belongs to {golden.path()}", "used once"):
        assert word in str(raised.value)


def test_an_id_that_is_not_the_path(folder) -> None:
    folder.path().rename(folder.path("documents/003/renamed"))
    if folder.index.exists():
        folder.edit_index(
            lambda index: index["cases"].update({"documents/003/renamed": {"revision": 1, "sha256": "0" * 64}})
        )
        folder.edit_index(lambda index: index["cases"].pop(CONTEXT))
    with pytest.raises(FixtureError) as raised:
        load_suite(folder.folder, select=["documents/003/renamed"])
    for word in (str(folder.path("documents/003/renamed")), f"{CONTEXT!r} at /id", "'documents/003/renamed'"):
        assert word in str(raised.value)


def test_a_file_that_the_index_does_not_name(golden) -> None:
    path = golden.path("documents/003/new")
    shutil.copy(golden.path(), path)
    golden.edit(at("/id", "documents/003/new"), "documents/003/new")
    with pytest.raises(FixtureError) as raised:
        read_index(golden.folder)
    for word in (str(path), f"not named in {golden.index}", "attnspec regenerate"):
        assert word in str(raised.value)


def test_a_damaged_file_that_the_index_does_not_name_is_damaged_first_of_all(golden) -> None:
    path = golden.path("documents/003/new")
    path.write_text("{")
    with pytest.raises(FixtureError, match=r"new\.json is not valid JSON"):
        read_index(golden.folder)


def test_a_missing_file(golden) -> None:
    golden.path().unlink()
    with pytest.raises(FixtureError) as raised:
        load_suite(golden.folder, select=[BOOLEAN])
    for word in (str(golden.path()), "does not exist", "attnspec regenerate"):
        assert word in str(raised.value)


def test_a_missing_folder(tmp_path) -> None:
    with pytest.raises(FixtureError, match=r"no folder of golden files at .*nowhere"):
        load_suite(tmp_path / "nowhere")


def test_a_file_instead_of_the_folder(golden) -> None:
    with pytest.raises(FixtureError, match=r"no folder of golden files at .*context_vector\.json"):
        load_suite(golden.path())


def test_an_empty_folder(tmp_path) -> None:
    with pytest.raises(FixtureError) as raised:
        load_suite(tmp_path)
    assert str(raised.value) == f"There are no golden files in {tmp_path}."


def test_a_folder_instead_of_a_file(folder) -> None:
    folder.path().unlink()
    folder.path().mkdir()
    with pytest.raises(FixtureError) as raised:
        load_suite(folder.folder)
    assert str(raised.value) == f"{folder.path()} cannot be read (Is a directory)."


def test_hidden_files_are_not_golden_files(folder) -> None:
    (folder.folder / ".hidden.json").write_text("{")
    (folder.folder / "documents" / "notes.txt").write_text("not a case")
    assert len(load_suite(folder.folder).cases) == 3


BAD_INDEXES = {
    "wrong count": (lambda index: index.update(count=4), ["says 4 cases at /count but names 3", "regenerate"]),
    "no count": (lambda index: index.pop("count"), ["does not follow the index schema at /:", "'count'"]),
    "unknown key": (lambda index: index.update(more=1), ["at /:", "'more' was unexpected"]),
    "another format": (lambda index: index.update(format=2), ["at /format:", "1 was expected"]),
    "no cases": (lambda index: index.update(cases=[], count=0), ["does not follow the index schema at /"]),
    "an entry of another kind": (
        lambda index: index["cases"].update({CONTEXT: "0" * 64}),
        ["at /cases/documents~1003~1context_vector:", "is not of type 'object'"],
    ),
    "an entry without a digest": (
        lambda index: index["cases"][CONTEXT].pop("sha256"),
        ["at /cases/documents~1003~1context_vector:", "'sha256' is a required property"],
    ),
}


@pytest.mark.parametrize("damage", BAD_INDEXES)
def test_a_damaged_index(golden, damage) -> None:
    change, words = BAD_INDEXES[damage]
    golden.edit_index(change)
    with pytest.raises(FixtureError) as raised:
        load_suite(golden.folder)
    for word in [str(golden.index), *words]:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cut off"),
        (b'{"cases": {', "cut off"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[]", "does not hold a JSON object"),
        (b'{"format": 1, "format": 1}', "'format' twice"),
    ],
)
def test_an_index_that_cannot_be_parsed(golden, content, words) -> None:
    golden.index.write_bytes(content)
    with pytest.raises(FixtureError) as raised:
        load_suite(golden.folder)
    assert str(golden.index) in str(raised.value)
    assert words in str(raised.value)


def test_the_same_id_twice_in_the_index(golden) -> None:
    text = golden.index.read_text()
    entry = json.dumps({CONTEXT: {"revision": 1, "sha256": "0" * 64}})[1:-1]
    golden.index.write_text(text.replace('"cases": {', f'"cases": {{{entry}, ', 1))
    with pytest.raises(FixtureError, match=f"'{CONTEXT}' twice"):
        load_suite(golden.folder)


def test_a_valid_counterpart_that_does_not_exist(folder) -> None:
    folder.edit(at("/rejects/twin", "documents/003/nobody"), REFUSAL)
    if folder.index.exists():
        folder.vouch()
    with pytest.raises(FixtureError) as raised:
        load_suite(folder.folder)
    for word in (str(folder.path(REFUSAL)), "'documents/003/nobody' at /rejects/twin"):
        assert word in str(raised.value)


def test_the_valid_counterpart_of_a_selected_case_comes_along(folder) -> None:
    suite = load_suite(folder.folder, select=["*mismatch"])
    assert list(suite.cases) == [REFUSAL]
    assert list(suite.counterparts) == [CONTEXT]


def test_a_damaged_counterpart_is_noticed(folder) -> None:
    folder.edit(without("title"))
    with pytest.raises(FixtureError, match=r"context_vector\.json .*'title'"):
        load_suite(folder.folder, select=["*mismatch"])


def test_only_selected_cases_are_read(folder) -> None:
    folder.edit(without("title"))
    assert list(load_suite(folder.folder, select=["documents/002/*"]).cases) == [BOOLEAN]


def test_the_digest_stands_for_the_whole_folder(folder) -> None:
    whole = load_suite(folder.folder).digest
    assert load_suite(folder.folder, select=[BOOLEAN]).digest == whole
    folder.edit(at("/title", "Another title"))
    if folder.index.exists():
        folder.vouch()
    assert load_suite(folder.folder).digest != whole


def test_an_unknown_profile_is_answered_with_the_profiles(folder) -> None:
    with pytest.raises(UsageError) as raised:
        load_suite(folder.folder, profiles=["document"])
    assert str(raised.value) == "There is no profile 'document'; the profiles are documents. Did you mean documents?"


def test_an_unknown_id_is_answered_with_those_that_come_near(folder) -> None:
    with pytest.raises(UsageError) as raised:
        load_suite(folder.folder, select=[BOOLEAN, "documents/003/context_vectr"])
    assert "No case matches 'documents/003/context_vectr'. Did you mean" in str(raised.value)
    assert CONTEXT in str(raised.value)


def test_a_pattern_that_is_like_nothing_is_answered_with_the_way_to_the_list(folder) -> None:
    with pytest.raises(UsageError) as raised:
        load_suite(folder.folder, profiles=["documents"], select=["zzz*"])
    assert str(raised.value).startswith("No case in documents matches 'zzz*'. `attnspec list`")


def test_the_command_line_ends_with_2_and_a_sentence(golden, capsys) -> None:
    golden.path().write_bytes(golden.path().read_bytes()[:100])
    for arguments in (["list"], ["show", CONTEXT], ["check"], ["validate", "reference"]):
        assert main([*arguments, "--golden", str(golden.folder)]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"attnspec: {golden.path()} is not valid JSON")
        assert "Traceback" not in captured.err + captured.out


def test_check_counts_what_is_sound(golden, capsys) -> None:
    assert main(["check", "--golden", str(golden.folder)]) == 0
    assert capsys.readouterr().out == "3 files are sound.\n"
    assert main(["check", str(golden.index)]) == 0
    assert capsys.readouterr().out == "1 file is sound.\n"
    assert main(["check", str(golden.folder / "nothing.json")]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_check_file_returns_the_document(golden) -> None:
    assert check_file(golden.path())["id"] == CONTEXT
