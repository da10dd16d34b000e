"""Writing golden files: canonical bytes, each file in one step, and a check that writes nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from attnspec.base.errors import RecipeError, UsageError
from attnspec.base.files import GOLDEN_FOLDER, UNFINISHED, replace_file
from attnspec.cases import FORMAT, Case, canonical_json, case_from_json
from attnspec.cases.reading import INDEX, RECORDS
from attnspec.cases.stored_tolerances import FOLDER, SUFFIX
from attnspec.contract import ON_REQUEST
from attnspec_authoring.recipes import authored_cases, sampled_cases
from attnspec_authoring.regeneration.computing import computed_texts
from attnspec_authoring.regeneration.filling import authored_document
from attnspec_authoring.regeneration.printed import stated
from attnspec_authoring.regeneration.tolerances import tolerance_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from attnspec_authoring.recipes import AuthoredCase


@dataclass(frozen=True)
class Difference:
    """Difference of a file from what recipes and oracle give: ``missing``, ``changed``, or ``orphan`` of no recipe."""

    path: Path
    kind: Literal["missing", "changed", "orphan"]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a regeneration or check.

    `computed` cases went through the oracle; the others were unchanged. `differences` are files that were (or, in a
    check, would be) written or removed.
    """

    cases: int
    computed: int
    differences: tuple[Difference, ...]


def regenerate(
    folder: Path | None = None,
    *,
    everything: bool = False,
    profiles: Sequence[str] = (),
    cached: bool = True,
    progress: Callable[[], None] | None = None,
) -> Outcome:
    """Bring a golden folder up to date with the recipes, that of the checkout if None.

    Each file is replaced in one step, so that an interrupted run leaves every file either old or new. Unless
    `everything`, a case with unchanged authored part and digest keeps its values. So does a case of a profile that is
    run on request alone, unless `profiles` names it; empty, these mean all. `RecipeError` where a recipe contradicts
    itself (nothing is written then), `UsageError` where the folder cannot be written.
    """
    folder = GOLDEN_FOLDER if folder is None else folder
    if not folder.is_dir() and not folder.parent.is_dir():
        raise UsageError(f"There is no folder {folder.parent} in which {folder.name} could be made.")
    contents, outcome = _compared(folder, _Wanted(everything, tuple(profiles)), cached=cached, progress=progress)
    try:
        for difference in outcome.differences:
            if difference.kind == "orphan":
                difference.path.unlink()
            else:
                difference.path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(difference.path, contents[difference.path.relative_to(folder).as_posix()])
        for leftover in folder.rglob(f".*{UNFINISHED}"):
            leftover.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}: {error.filename}); regenerate in a checkout of attnspec."
        ) from None
    return outcome


def check(
    folder: Path | None = None,
    *,
    everything: bool = False,
    profiles: Sequence[str] = (),
    cached: bool = True,
    progress: Callable[[], None] | None = None,
) -> Outcome:
    """Compare every golden file, byte for byte, with what recipes, oracle and error model give; write nothing.

    The parameters are those of `regenerate`: a case that keeps its values there is taken as it is here.
    """
    folder = GOLDEN_FOLDER if folder is None else folder
    return _compared(folder, _Wanted(everything, tuple(profiles)), cached=cached, progress=progress)[1]


def golden_texts() -> dict[str, str]:
    """Return file name to text for every golden file and the index.

    All are computed anew, but for those of profiles that are run on request alone, which are read; nothing is written.
    """
    return _texts(GOLDEN_FOLDER, _Wanted(everything=True), cached=False, progress=None)[0]


class _Wanted(NamedTuple):
    """Which cases are computed although nothing of them has changed."""

    everything: bool
    profiles: tuple[str, ...] = ()

    def has(self, case: AuthoredCase | Case) -> bool:
        return self.everything and (case.profile in self.profiles if self.profiles else case.profile not in ON_REQUEST)


def _compared(
    folder: Path, wanted: _Wanted, *, cached: bool, progress: Callable[[], None] | None
) -> tuple[dict[str, bytes], Outcome]:
    """Return file name to the content that it should have, and how the folder differs from these."""
    texts, computed = _texts(folder, wanted, cached=cached, progress=progress)
    contents = {name: text.encode() for name, text in texts.items()}
    entries = json.loads(contents[INDEX])["cases"]
    cases = (case_from_json(json.loads(contents[f"{case_id}.json"]), vouched=True) for case_id in entries)
    digests = {case_id: entry["sha256"] for case_id, entry in entries.items()}
    contents |= tolerance_files(folder, cases, digests, anew=wanted.has)
    return contents, Outcome(len(entries), computed, _differences(folder, contents))


def _texts(
    folder: Path, wanted: _Wanted, *, cached: bool, progress: Callable[[], None] | None
) -> tuple[dict[str, str], int]:
    """Return file name to the text it should have, and how many cases were computed."""
    cases = _by_id((*authored_cases(), *sampled_cases()))
    known = _known_digests(folder)
    texts: dict[str, str] = {}
    for case_id in sorted(cases.keys() & known.keys()):
        if wanted.has(cases[case_id]):
            continue
        text = _unchanged_text(folder / f"{case_id}.json", cases[case_id], known)
        if text is not None:
            texts[case_id] = text
            if progress is not None:
                progress()
    missing = [case for case_id, case in cases.items() if case_id not in texts]
    texts.update(computed_texts(missing, progress, cached=cached))
    digests = {case_id: hashlib.sha256(texts[case_id].encode()).hexdigest() for case_id in cases}
    entries = {case_id: {"revision": case.revision, "sha256": digests[case_id]} for case_id, case in cases.items()}
    index = canonical_json({"format": FORMAT, "count": len(entries), "cases": entries})
    return {**{f"{case_id}.json": texts[case_id] for case_id in sorted(cases)}, INDEX: index}, len(missing)


def _by_id(cases: tuple[AuthoredCase, ...]) -> dict[str, AuthoredCase]:
    """Return the cases by id; `RecipeError` for an id used twice, or a valid counterpart that does not exist."""
    by_id: dict[str, AuthoredCase] = {}
    for case in cases:
        if case.id in by_id:
            raise RecipeError(f"Two recipes make the case {case.id!r}; an id is used once.")
        by_id[case.id] = case
    for case in cases:
        if case.rejects is not None and case.rejects.counterpart not in by_id:
            raise RecipeError(f"{case.id} names the counterpart {case.rejects.counterpart!r}, which no recipe makes.")
    return by_id


def _known_digests(folder: Path) -> dict[str, str]:
    try:
        index = json.loads((folder / INDEX).read_bytes())
        return {case_id: entry["sha256"] for case_id, entry in index["cases"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _unchanged_text(path: Path, case: AuthoredCase, known: Mapping[str, str]) -> str | None:
    """Return the present text of a file whose digest holds and whose authored part is what the recipe says."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != known.get(case.id):
        return None
    present = json.loads(content)
    stored = [{key: value for key, value in entry.items() if key != "agrees"} for entry in present.pop("printed", ())]
    for tensor in present["inputs"].values():
        if "generator" in tensor:
            tensor["sha256"] = ""  # what a generator makes is no part of what an author states
    outputs = {tuple(sorted(tensors)) for tensors in present.pop("expected", {}).values()}
    wanted = [stated(entry) for entry in case.printed]
    if any(present["inputs"].pop(name, None) is None for name in case.derived):
        return None
    # Texts are compared, not objects: to Python 1, 1.0 and true are equal.
    same = canonical_json([present, stored]) == canonical_json([authored_document(case), wanted])
    return content.decode() if same and outputs <= {tuple(sorted(case.outputs))} else None


def _differences(folder: Path, contents: Mapping[str, bytes]) -> tuple[Difference, ...]:
    differences: list[Difference] = []
    for name, content in contents.items():
        path = folder / name
        if not path.exists():
            differences.append(Difference(path, "missing"))
        elif path.read_bytes() != content:
            differences.append(Difference(path, "changed"))
    known = {*contents, *RECORDS}
    for path in sorted([*folder.rglob("*.json"), *(folder / FOLDER).glob(f"*{SUFFIX}")]):
        if path.relative_to(folder).as_posix() not in known and not path.name.startswith("."):
            differences.append(Difference(path, "orphan"))
    return tuple(differences)
