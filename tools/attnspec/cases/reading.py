"""Reading golden files: the index, the digests that vouch for shipped files, the schema for all others.

A file whose SHA-256 equals the one in ``index.json`` is exactly what ``attnspec regenerate`` wrote, so it is not
checked again. Anything else is examined until the sentence can say what is wrong with it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attnspec.base.errors import FixtureError, UsageError
from attnspec.base.files import GOLDEN_FOLDER, SCHEMA_FOLDER
from attnspec.cases.bundles import SUFFIX, bundled_file, bundled_ids
from attnspec.cases.canonical import canonical_json
from attnspec.cases.case import FORMAT, Case, case_from_json
from attnspec.cases.consistency import contradiction
from attnspec.contract import ON_REQUEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

INDEX = "index.json"
RELEASED = "released.json"
RETIRED = "retired.json"
SMOKE = "smoke.json"
"""The file that names the cases of the profile ``smoke``, which takes its cases from all the others."""
SMOKE_PROFILE = "smoke"
RECORDS = (INDEX, RELEASED, RETIRED, SMOKE)
"""The files of a golden folder that are no cases."""


@dataclass(frozen=True)
class Suite:
    """The selected cases of a golden folder, by id in order, and their valid counterparts that are not selected.

    The digest is the SHA-256 over the ids, revisions and digests of all cases of the folder, selected or not.
    """

    folder: Path
    digest: str
    cases: Mapping[str, Case]
    counterparts: Mapping[str, Case]


def suite_of(cases: Iterable[Case]) -> Suite:
    """Return cases that come from no folder as a suite, without valid counterparts."""
    return Suite(Path(), "", {case.id: case for case in cases}, {})


def load_suite(
    folder: Path | None = None, *, profiles: Sequence[str] = (), select: Sequence[str] = (), whole: bool = False
) -> Suite:
    """Read the cases of a golden folder (None: the shipped one), by profile and shell pattern; all if these are empty.

    Those run on request alone are left out unless asked for, or `whole`. Raises `FixtureError`, naming file and JSON
    pointer, for damage, and `UsageError` for an unknown profile or a pattern without a match.
    """
    folder = GOLDEN_FOLDER if folder is None else folder
    entries = read_index(folder)
    smoke = read_smoke_ids(folder, entries) if SMOKE_PROFILE in profiles else ()
    ids = select_ids(entries, profiles=profiles, select=select, smoke=smoke)
    # Some cases are run on request alone: where their profile is named, or a pattern begins with it.
    asked = {*profiles, *(pattern.partition("/")[0] for pattern in select)}
    absent = tuple(f"{profile}/" for profile in ON_REQUEST if profile not in asked)
    if absent and not whole:
        ids = tuple(case_id for case_id in ids if not case_id.startswith(absent))
    cases = {case_id: _read_case(folder, case_id, entries[case_id]) for case_id in ids}
    counterparts: dict[str, Case] = {}
    for case in cases.values():
        if case.rejects is None or case.rejects.counterpart in cases:
            continue
        counterpart = case.rejects.counterpart
        if counterpart not in entries:
            raise FixtureError(
                f"{folder / case.id}.json names the twin {counterpart!r} at /rejects/twin, but there is no such case."
            )
        counterparts[counterpart] = _read_case(folder, counterpart, entries[counterpart])
    return Suite(folder, suite_digest(entries), cases, counterparts)


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
            _explain_stranger(folder, folder / f"{case_id}.json", entries)
    if not entries:
        raise FixtureError(f"There are no golden files in {folder}.")
    return entries


def _ids_of_files(folder: Path) -> list[str]:
    """Return the id of every case file below a folder; by plain strings, because there are many."""
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        place = os.path.relpath(parent, folder).replace(os.sep, "/")
        prefix = "" if place == "." else f"{place}/"
        for name in (*folders, *names):
            if name.endswith(".json") and not name.startswith(".") and prefix + name not in RECORDS:
                found.append(prefix + name.removesuffix(".json"))
    return found


def suite_digest(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the SHA-256 that stands for the whole content of a golden folder."""
    lines = (f"{case_id} {entry['revision']} {entry['sha256']}\n" for case_id, entry in sorted(entries.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_smoke_ids(folder: Path, entries: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the profile ``smoke``; raise `UsageError` if there is none, `FixtureError` if it is damaged."""
    path = folder / SMOKE
    if not path.exists():
        raise UsageError(f"{folder} has no profile {SMOKE_PROFILE!r}: there is no file {SMOKE} in it.")
    document = _parse(path, file_content(path))
    named = document.get("cases")
    # As for the index, the schema, which is slow to load, explains a file that is not sound at first sight.
    if set(document) != {"format", "cases"} or document["format"] != FORMAT or not isinstance(named, list):
        check_against_schema(path, document, "smoke")
    for case_id in document["cases"]:
        if case_id not in entries:
            raise FixtureError(
                f"{path} names the case {case_id!r}, which does not exist. "
                "Compute it anew: attnspec mistakes --matrix --write-smoke"
            )
    return tuple(document["cases"])


def smoke_text(ids: Sequence[str]) -> str:
    """Return the text of the file that names the cases of the profile ``smoke``."""
    return canonical_json({"format": FORMAT, "cases": sorted(ids)})


def select_ids(
    ids: Iterable[str], *, profiles: Sequence[str] = (), select: Sequence[str] = (), smoke: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the ids, sorted, that are in one of `profiles` and match one of the patterns; all where these are empty.

    `smoke` has the ids of that profile; empty for none. Raises `UsageError` for a profile or a pattern without any id.
    """
    ids = sorted(ids)
    known = sorted({case_id.split("/", 1)[0] for case_id in ids} | ({SMOKE_PROFILE} if smoke else set()))
    for profile in profiles:
        check_profile(profile, known)
    if profiles:
        ids = [case_id for case_id in ids if case_id.split("/", 1)[0] in profiles or case_id in smoke]
    # Hundreds of cases are named one by one: an id is looked up, not matched against all others.
    named = set(ids).intersection(select)
    patterns = [pattern for pattern in select if pattern not in named]
    for pattern in patterns:
        if not any(fnmatchcase(case_id, pattern) for case_id in ids):
            where = f" in {', '.join(profiles)}" if profiles else ""
            raise UsageError(f"No case{where} matches {pattern!r}.{near(pattern, ids)}")
    if select:
        ids = [case for case in ids if case in named or any(fnmatchcase(case, pattern) for pattern in patterns)]
    return tuple(ids)


def check_profile(profile: str, known: Collection[str]) -> None:
    """Raise `UsageError`, with all profiles and the one that comes near, if `profile` is not among them."""
    if profile not in known:
        from difflib import get_close_matches

        close = get_close_matches(profile, known, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise UsageError(f"There is no profile {profile!r}; the profiles are {', '.join(known)}.{hint}")


def near(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean ...?" with the names that come near, or where to find them all."""
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(known), n=3)
    return f" Did you mean {', '.join(close)}?" if close else " `attnspec list` shows the ids of the cases."


def check_file(path: Path, *, kind: str = "case") -> dict[str, Any]:
    """Read one JSON file with every check: syntax, duplicate keys, schema, tensor shapes, contradictions.

    Raises `FixtureError`, naming the file and the JSON pointer.
    """
    document = _parse(path, file_content(path))
    check_against_schema(path, document, kind)
    if kind == "case":
        _to_case(path, document)
        found = contradiction(document)
        if found is not None:
            raise FixtureError(f"{path} contradicts itself at {found[0]}: {found[1]}.")
    return document


def check_against_schema(path: Path, document: Any, kind: str) -> None:
    """Raise `FixtureError`, naming the JSON pointer, if `document` does not follow its schema."""
    from jsonschema import exceptions

    error: Any = cast("Any", exceptions).best_match(schema_validator(kind).iter_errors(document))
    if error is not None:
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)
        pointer = "".join(f"/{part}" for part in parts) or "/"
        raise FixtureError(f"{path} does not follow the {kind} schema at {pointer}: {_in_words(error).rstrip('.')}.")


def _in_words(error: Any) -> str:
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
    index = _parse(path, file_content(path))
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


def _read_case(folder: Path, case_id: str, entry: Mapping[str, Any]) -> Case:
    path = folder / f"{case_id}.json"
    content = file_content(path)
    if hashlib.sha256(content).hexdigest() == entry["sha256"] and "checked" not in entry:
        return case_from_json(json.loads(content), vouched=True)
    document = check_file(path)
    _check_id(path, document, case_id)
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


def file_content(path: Path) -> bytes:
    """Return the bytes of a golden file, or of its part of the bundle; raise `FixtureError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        bundled = bundled_file(path)
        if bundled is not None:
            return bundled
        raise FixtureError(f"{path} cannot be read ({error.strerror}).") from None


def _parse(path: Path, content: bytes) -> dict[str, Any]:
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


def _entry_of_unindexed(path: Path) -> dict[str, Any]:
    """Make an index entry for a file that no index vouches for; it is checked in full when read."""
    content = file_content(path)
    revision = _parse(path, content).get("revision", 0)
    return {"revision": revision, "sha256": hashlib.sha256(content).hexdigest(), "checked": True}


def _explain_stranger(folder: Path, path: Path, entries: Mapping[str, Any]) -> None:
    """Raise `FixtureError` for a file that the index does not name, with the reason that helps most."""
    document = check_file(path)
    if document["id"] in entries:
        raise FixtureError(
            f"{path} holds the id {document['id']!r} at /id, which belongs to "
            f"{folder / document['id']}.json: an id is used once."
        )
    raise FixtureError(f"{path} is not named in {folder / INDEX}. Run `attnspec regenerate`, or remove the file.")


def _check_id(path: Path, document: Mapping[str, Any], case_id: str) -> None:
    if document["id"] != case_id:
        raise FixtureError(f"{path} holds the id {document['id']!r} at /id; the id of a case is its path: {case_id!r}.")
