"""Reading golden files: the index, the digests that vouch for shipped files, the schema for all others.

A file whose SHA-256 equals the one in ``index.json`` is exactly what ``attnspec regenerate`` wrote, so it is not
checked again. Anything else is examined until the sentence can say what is wrong with it.

Canonical JSON is one text for one value, to compare files byte for byte: sorted keys, the shortest decimals
that read back exactly, a list of plain values on one line. A wheel holds the cases of a profile in one bundle: it
compresses each file by itself, and three thousand small ones take half as much again. A checkout has the files.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from attnspec.base.errors import FixtureError
from attnspec.base.files import SCHEMA_FOLDER
from attnspec.cases.case import FORMAT, Case, case_from_json
from attnspec.cases.stored_tolerances import TOLERANCES, read_profile

SUFFIX = ".cases"
"""Suffix of the name of a bundle, behind that of its profile."""

_END = b"\n}\n"
"""Where a file ends: all lines of the canonical JSON are indented but for the first one and the last."""

_NAMED_NUMBERS = {"inf", "-inf", "nan"}
_KINDS_OF_DATA = {int, float, bool, str, list}
"""JSON types that a schema of cases allows in the data of a tensor; of the strings, names of numbers alone."""

_ID = re.compile(rb'^ "id": "([^"]+)"', re.MULTILINE)


def canonical_json(value: Any) -> str:
    """Return the canonical text of JSON types; raise `ValueError` for a float that is not finite."""
    return _json_text(value, "\n") + "\n"


def _json_text(value: Any, newline: str) -> str:
    inner = newline + " "
    if isinstance(value, dict) and value:
        entries = cast("dict[str, Any]", value)
        lines = [f"{json.dumps(key)}: {_json_text(entries[key], inner)}" for key in sorted(entries)]
        return "{" + inner + ("," + inner).join(lines) + newline + "}"
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict) for item in cast("Any", value)):
        items = cast("list[Any]", value)
        return "[" + inner + ("," + inner).join(_json_text(item, inner) for item in items) + newline + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def file_content(path: Path) -> bytes:
    """Return the bytes of a golden file, or of its part of the bundle; raise `FixtureError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        bundled = bundled_file(path)
        if bundled is not None:
            return bundled
        raise FixtureError(f"{path} cannot be read ({error.strerror}).") from None


def parse_json_object(path: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON object of a file; raise `FixtureError`, with the reason that helps most, where it is none."""

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise FixtureError(f"{path} holds the key {twice!r} twice in one object.")
        return result

    def no_constants(name: str) -> Any:
        raise FixtureError(f'{path} holds the bare word {name}; fixtures write it as a string, such as "inf".')

    def finite(number: str) -> float:
        value = float(number)
        if math.isinf(value):
            raise FixtureError(f'{path} holds {number}, which is beyond float64; fixtures write infinity as "inf".')
        return value

    try:
        text = content.decode("utf-8").rstrip()
        document = json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constants, parse_float=finite)
    except UnicodeDecodeError as error:
        raise FixtureError(f"{path} is not UTF-8 text (byte {error.start}).") from None
    except json.JSONDecodeError as error:
        ends_early = error.pos >= len(error.doc) - 1 or not error.doc.endswith("}")
        cut = "; it seems to be cut off" if error.doc[:1] in ("", "{") and ends_early else ""
        raise FixtureError(
            f"{path} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}{cut})."
        ) from None
    except ValueError:
        raise FixtureError(f"{path} holds an integer with thousands of digits, which no fixture needs.") from None
    except RecursionError:
        raise FixtureError(f"{path} is nested too deeply to be a fixture.") from None
    if not isinstance(document, dict):
        raise FixtureError(f"{path} does not hold a JSON object.")
    return cast("dict[str, Any]", document)


def bundled_ids(bundles: Sequence[Path], indexed: Iterable[str] | None = None) -> list[str]:
    """Return the id of every case in the bundles of a folder of golden files.

    With the ids of an index no bundle is read: a case that it names and a bundle lacks is missed when the case is read.
    """
    if indexed is None:
        return [case_id for bundle in bundles for case_id in _files_in(bundle)]
    profiles = {bundle.stem for bundle in bundles}
    return [case_id for case_id in indexed if case_id.partition("/")[0] in profiles]


def bundled_file(path: Path) -> bytes | None:
    """Return the content of a case's file from the bundle of its profile; None where there is none."""
    for profile in path.parents:
        bundle = profile.parent / f"{profile.name}{SUFFIX}"
        if bundle.is_file():
            return _files_in(bundle).get(path.relative_to(profile.parent).with_suffix("").as_posix())
    return None


@lru_cache(maxsize=1)  # Cases are read profile by profile, and a bundle is as large as all that is read of it.
def _files_in(bundle: Path) -> dict[str, bytes]:
    """Return id to content of the files in a bundle."""
    files = [part + _END for part in bundle.read_bytes().split(_END)[:-1]]
    named = [(_ID.search(file), file) for file in files]
    return {found[1].decode(): file for found, file in named if found is not None}


INDEX = "index.json"
RELEASED = "released.json"
RETIRED = "retired.json"

SMOKE = "smoke.json"
"""The file that names the cases of the profile ``smoke``, which takes its cases from all the others."""

ORDER = "order.json"
"""The file that names the same cases in the order in which they are called, before all others."""

RECORDS = (INDEX, RELEASED, RETIRED, SMOKE, ORDER, TOLERANCES)
"""The files of a golden folder that are no cases."""


def read_index(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return id to ``{"revision", "sha256"}`` for every case of a folder.

    Raises `FixtureError` if the folder holds no cases, or files and index do not name the same ids.
    """
    if not folder.is_dir():
        raise FixtureError(f"There is no folder of golden files at {folder}.")
    index_path, bundles = folder / INDEX, sorted(folder.glob(f"*{SUFFIX}"))
    if not index_path.exists():
        entries: dict[str, Mapping[str, Any]] = {
            case_id: _entry_of_unindexed(folder / f"{case_id}.json")
            for case_id in sorted([*_ids_of_files(folder), *bundled_ids(bundles)])
        }
    else:
        entries = _index_entries(index_path)
        found = _ids_of_files(folder) + (bundled_ids(bundles, entries) if bundles else [])
        for case_id in sorted(entries.keys() - set(found)):
            raise FixtureError(
                f"{folder / case_id}.json is named in {INDEX} but does not exist. "
                "Restore it, or run `attnspec regenerate`."
            )
        for case_id in sorted(set(found) - entries.keys()):
            _raise_for_unindexed_file(folder, folder / f"{case_id}.json", entries)
    if not entries:
        raise FixtureError(f"There are no golden files in {folder}.")
    return entries


def _ids_of_files(folder: Path) -> list[str]:
    """Return the id of every case file below a folder; by plain strings, because there are many."""
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        path = os.path.relpath(parent, folder).replace(os.sep, "/")
        prefix = "" if path == "." else f"{path}/"
        for name in (*folders, *names):
            if name.endswith(".json") and not name.startswith(".") and prefix + name not in RECORDS:
                found.append(prefix + name.removesuffix(".json"))
    return found


def suite_digest(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the SHA-256 that stands for the whole content of a golden folder."""
    lines = (f"{case_id} {entry['revision']} {entry['sha256']}\n" for case_id, entry in sorted(entries.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_file(path: Path, *, kind: str = "case") -> dict[str, Any]:
    """Read one JSON file with every check: syntax, duplicate keys, schema, tensor shapes, contradictions.

    Generated inputs are drawn, for their digests. Raises `FixtureError`, naming the file and the JSON pointer.
    """
    document = parse_json_object(path, file_content(path))
    check_against_schema(path, document, kind)
    if kind == "case":
        case = _to_case(path, document)
        from attnspec.cases.consistency import contradiction

        found = contradiction(document) or _generated_digest_error(case)
        if found is not None:
            raise FixtureError(f"{path} contradicts itself at {found[0]}: {found[1]}.")
    return document


def check_indexed_file(path: Path, golden: Path) -> bool:
    """Check a case's file as `check_file` does, and against the index of the golden folder that it lies in.

    That is the nearest folder above that has an index of cases; a copy that lies elsewhere is compared with the index
    of `golden` by its id. Returns whether an index names it. Raises `FixtureError`.
    """
    case_id = check_file(path)["id"]
    absolute = path.resolve()
    for folder in absolute.parents:
        index = folder / INDEX
        # Other programs have files of this name, too.
        if not index.is_file() or b'"cases"' not in index.read_bytes():
            continue
        entries = _index_entries(index)
        case_id = absolute.relative_to(folder).with_suffix("").as_posix()
        if case_id not in entries:
            _raise_for_unindexed_file(folder, path, entries)
        read_case(folder, case_id, entries[case_id], path)
        return True
    entry = read_index(golden).get(case_id)
    if entry is None:
        return False
    if "checked" not in entry and hashlib.sha256(file_content(path)).hexdigest() != entry["sha256"]:
        raise FixtureError(
            f"{path} holds the id {case_id!r} at /id, and is not the file that {golden / INDEX} vouches for "
            "(its SHA-256 differs). Copy it anew, or give a case of your own an id of its own."
        )
    return True


def _generated_digest_error(case: Case) -> tuple[str, str] | None:
    for name, tensor in case.generated.items():
        found = tensor.digest()
        if found != tensor.sha256:
            return f"/inputs/{name}/sha256", f"the numbers that the generator makes have the SHA-256 {found}"
    return None


def check_against_schema(path: Path, document: Any, kind: str) -> None:
    """Raise `FixtureError`, naming the JSON pointer, if `document` does not follow its schema."""
    from jsonschema import exceptions

    validator = schema_validator(kind)
    # The schema takes its time with each number; what is wrong is still found and said by the schema, in the whole.
    if kind == "case" and validator.is_valid(_without_sound_data(document)):
        return
    error: Any = cast("Any", exceptions).best_match(validator.iter_errors(document))
    if error is not None:
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)
        pointer = "".join(f"/{part}" for part in parts) or "/"
        raise FixtureError(f"{path} does not follow the {kind} schema at {pointer}: {_error_text(error).rstrip('.')}.")


def _without_sound_data(document: Any) -> Any:
    """Return a case in which data of tensors that follow the schema are an empty list, which follows it, too."""
    if not isinstance(document, dict):
        return document
    parts = cast("dict[str, Any]", document)
    emptied = {name: _emptied(parts[name], depth) for name, depth in (("inputs", 1), ("expected", 2)) if name in parts}
    return parts | emptied


def _emptied(part: Any, depth: int) -> Any:
    """Return tensors, so many keys below, without sound data."""
    if not isinstance(part, dict):
        return part
    entries = cast("dict[str, Any]", part)
    if depth:
        return {name: _emptied(entry, depth - 1) for name, entry in entries.items()}
    emptied: dict[str, Any] = {**entries, "data": []}
    return emptied if _is_sound_data(entries.get("data")) else entries


def _is_sound_data(data: Any) -> bool:
    """Return whether the schema allows data of a tensor: numbers, truth values and names, in lists at any depth."""
    entries = cast("list[Any]", data) if isinstance(data, list) else [data]
    kinds = set(map(type, entries))
    if not kinds <= _KINDS_OF_DATA:
        return False
    if str in kinds and not {entry for entry in entries if isinstance(entry, str)} <= _NAMED_NUMBERS:
        return False
    return list not in kinds or all(_is_sound_data(entry) for entry in entries if isinstance(entry, list))


def _error_text(error: Any) -> str:
    """Return a schema error as a short clause; the stock message may quote the whole document."""
    if error.validator == "oneOf":
        choices = ", ".join(name for branch in error.validator_value for name in branch["required"])
        return f"exactly one of {choices} must be there."
    if error.validator == "anyOf" and not isinstance(error.instance, dict | list):
        return f"{error.instance!r} is not what belongs here."
    return error.message if len(error.message) <= 300 else error.message[:300] + " ..."


@cache
def schema_validator(kind: str) -> Any:
    """Return a JSON Schema validator for ``case``, ``index``, ``smoke``, ``report`` or ``protocol``."""
    from jsonschema import Draft202012Validator

    path = SCHEMA_FOLDER / f"{kind}.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def _index_entries(path: Path) -> dict[str, Mapping[str, Any]]:
    index = parse_json_object(path, file_content(path))
    cases: dict[str, Any] | None = index.get("cases")
    # The schema, which is slow to load, explains an index that is not sound at first sight.
    if (
        set(index) == {"format", "count", "cases"}
        and index["format"] == FORMAT
        and isinstance(cases, dict)
        and index["count"] == len(cases) > 0
        and all(type(entry) is dict and set(entry) == {"revision", "sha256"} for entry in cases.values())
    ):
        return cases
    check_against_schema(path, index, "index")
    count, found = index["count"], len(index["cases"])
    if count != found:
        raise FixtureError(
            f"{path} says {count} cases at /count but names {found}: it was cut or edited. "
            "Restore it, or run `attnspec regenerate`."
        )
    return index["cases"]


def read_case(folder: Path, case_id: str, entry: Mapping[str, Any], path: Path | None = None) -> Case:
    """Read a case by its entry in the index; raise `FixtureError` where neither digest nor checks vouch for it.

    `path` is what a sentence calls the file where this is not its path below `folder`.
    """
    path = folder / f"{case_id}.json" if path is None else path
    content = file_content(path)
    digest = hashlib.sha256(content).hexdigest()
    if digest == entry["sha256"] and "checked" not in entry:
        case = case_from_json(json.loads(content), vouched=True)
        tolerances = read_profile(folder, case.profile)
        return (
            case if tolerances is None else case._replace(stored_tolerances=tolerances.of(case_id, digest, case.parts))
        )
    document = check_file(path)
    if document["id"] != case_id:
        raise FixtureError(f"{path} holds the id {document['id']!r} at /id; the id of a case is its path: {case_id!r}.")
    if "checked" not in entry:
        raise FixtureError(
            f"{path} is not the file that {folder / INDEX} vouches for (its SHA-256 differs): it was changed "
            "after it was generated. Restore it, or run `attnspec regenerate`."
        )
    return _to_case(path, document)


def _to_case(path: Path, document: Mapping[str, Any]) -> Case:
    try:
        return case_from_json(document)
    except ValueError as error:
        pointer, _, problem = str(error).partition(": ")
        raise FixtureError(f"{path} is damaged at {pointer}: {problem}") from None


def _entry_of_unindexed(path: Path) -> dict[str, Any]:
    """Make an index entry for a file that no index vouches for; it is checked in full when read."""
    content = file_content(path)
    revision = parse_json_object(path, content).get("revision", 0)
    return {"revision": revision, "sha256": hashlib.sha256(content).hexdigest(), "checked": True}


def _raise_for_unindexed_file(folder: Path, path: Path, entries: Mapping[str, Any]) -> None:
    """Raise `FixtureError` for a file that the index does not name, with the reason that helps most."""
    document = check_file(path)
    if document["id"] in entries:
        raise FixtureError(
            f"{path} holds the id {document['id']!r} at /id, which belongs to "
            f"{folder / document['id']}.json: an id is used once."
        )
    raise FixtureError(f"{path} is not named in {folder / INDEX}. Run `attnspec regenerate`, or remove the file.")
