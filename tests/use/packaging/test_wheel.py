"""The wheel, used from an empty folder in a clean environment, and the sdist from which it can be built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from attnspec.base import __version__, files
from attnspec.targets.calling import OUR_PACKAGES

ROOT = Path(__file__).parents[3]
SHIPPED = ("golden", "spec/operations", "spec/schemas")
PACKAGES = {
    "attnspec": ROOT / "tools",
    "attnspec_adapters": ROOT / "tools",
    "attnspec_draws": ROOT / "tools",
    "attnspec_mistakes": ROOT / "reference_impl",
    "attnspec_modules": ROOT / "tools",
    "attnspec_probes": ROOT / "tools",
    "attnspec_reference": ROOT / "reference_impl",
    "attnspec_vectors": ROOT / "tools",
}


def ended(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def run(*command: str | Path, folder: Path) -> str:
    done = ended(*command, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(source: Path, target: str, into: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", into, folder=source)
    (made,) = into.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def contents(wheel) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def dependencies(requirements: list[str] | None) -> dict[str, metadata.Distribution]:
    """Return the installed distributions that plain requirements (no extras) lead to, by name."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(text) for text in requirements or []]
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[name] = metadata.distribution(name)
        assert requirement.specifier.contains(found[name].version)
        waiting += [Requirement(text) for text in found[name].requires or []]
    return found


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> tuple[Path, Path]:
    """Return a fresh environment's programs and packages: the wheel, what it declares to need, and nothing else."""
    folder = tmp_path_factory.mktemp("clean") / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=ROOT)
    paths = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
    packages, programs = Path(paths["purelib"]), Path(paths["scripts"])
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", programs / "python"]
    run(*pip, "install", "--no-index", "--no-deps", wheel, folder=folder)
    (installed,) = metadata.distributions(name="attnspec", path=[str(packages)])
    # What the tests run with is linked in, not downloaded: only what the wheel declares is there.
    for distribution in dependencies(installed.requires).values():
        for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in {"..", "__pycache__"}}:
            if not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))
    return programs, packages


def test_nothing_but_what_users_need_is_installed(contents) -> None:
    tops = {name.split("/")[0] for name in contents}
    assert tops == {*PACKAGES, f"attnspec-{__version__}.dist-info"}


def test_what_is_installed_is_not_taken_for_the_code_of_a_user() -> None:
    assert {*OUR_PACKAGES} == {*PACKAGES}


def test_the_wheel_ships_goldens_schemas_and_pages(contents) -> None:
    wanted = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not path.is_relative_to(ROOT / "golden")
    }
    golden = ROOT / "golden"
    wanted |= {f"golden/{path.name}": path.read_bytes() for path in golden.glob("*.json")}
    wanted |= {f"golden/tolerances/{path.name}": path.read_bytes() for path in golden.glob("tolerances/*.bin")}
    for profile in (path for path in golden.iterdir() if any(path.rglob("*.json"))):
        files = sorted(profile.rglob("*.json"))
        wanted[f"golden/{profile.name}.cases"] = b"".join(path.read_bytes() for path in files)
    wanted["spec/errata.md"] = (ROOT / "spec" / "errata.md").read_bytes()
    prefix = "attnspec/_data/"
    assert {name.removeprefix(prefix): data for name, data in contents.items() if name.startswith(prefix)} == wanted
    assert "golden/index.json" in wanted
    assert "spec/schemas/case.schema.json" in wanted


def test_the_wheel_holds_every_module_and_says_that_they_are_typed(contents) -> None:
    modules = {
        path.relative_to(code_root).as_posix()
        for package, code_root in PACKAGES.items()
        for path in (code_root / package).rglob("*.py")
    }
    assert {name for name in contents if name.endswith(".py")} == modules
    assert {f"{package}/py.typed" for package in PACKAGES} <= contents.keys()
    for package, code_root in PACKAGES.items():
        assert {path.relative_to(code_root).as_posix() for path in (code_root / package).rglob("*.json")} <= {*contents}


def test_the_metadata_names_licence_python_and_program(contents) -> None:
    about = contents[f"attnspec-{__version__}.dist-info/METADATA"].decode()
    assert f"\nVersion: {__version__}\n" in about
    assert "\nRequires-Python: >=3.11\n" in about
    assert "\nLicense-Expression: Apache-2.0\n" in about
    assert f"attnspec-{__version__}.dist-info/licenses/LICENSE" in contents
    programs = contents[f"attnspec-{__version__}.dist-info/entry_points.txt"].decode()
    assert "attnspec = attnspec.command_line:main" in programs


def test_it_works_from_an_empty_folder(environment, tmp_path) -> None:
    programs, packages = environment
    where = run(programs / "python", "-c", "import attnspec; print(attnspec.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(packages)
    verdict = run(programs / "attnspec", "validate", "reference", "--profile", "smoke", "--quiet", folder=tmp_path)
    assert " conforms: " in verdict
    assert len(verdict.splitlines()) == 1
    clause = run(programs / "attnspec", "explain", "sdpa.scale.default", folder=tmp_path)
    assert clause.startswith("sdpa.scale.default (clause, spec/operations/attention/scaled_dot_product_attention.md)\n")
    assert "\ncases:\n" in clause
    assert "documents/002/attention_unmasked" in clause
    assert f"version {__version__}" in run(programs / "attnspec", "--version", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_it_writes_test_vectors(environment, tmp_path) -> None:
    programs, _ = environment
    words = ["vectors", "here", "--profile", "core", "--archive", "vectors.tar.gz"]
    said = run(programs / "attnspec", *words, folder=tmp_path)
    assert "1 operation" in said
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    named = ("README.md", "SHA256SUMS", "vectors.schema.json", "scaled_dot_product_attention/core.json")
    assert there == {"vectors.tar.gz", *(f"here/{name}" for name in named)}


def test_pytest_knows_the_markers_of_all_profiles(environment, tmp_path) -> None:
    programs, _ = environment
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for distribution in dependencies(["pytest"]).values():
        for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in {"..", "__pycache__"}}:
            (libraries / top).symlink_to(distribution.locate_file(top))
    (tmp_path / "tests").mkdir()
    words = ["--attnspec=reference", "--attnspec-profile=core", "--strict-markers", "-q", "-p", "no:cacheprovider"]
    program = f"import sys; sys.path.append({str(libraries)!r}); import pytest; sys.exit(pytest.main({words}))"
    assert " passed" in run(programs / "python", "-c", program, folder=tmp_path / "tests")
    shown = run(programs / "python", "-c", program.replace("'-q'", "'--markers'"), folder=tmp_path / "tests")
    markers = {line.partition(":")[0].removeprefix("@pytest.mark.") for line in shown.splitlines()}
    assert {path.parts[-2] for path in (ROOT / "golden").glob("*/*.json")} <= markers
    assert "tolerances" not in markers


def test_the_wheel_is_small(wheel) -> None:
    # What a user downloads: 5.7 MB, modules that hold their weights and interfaces of kernels with it, and 2.0 MB of
    # stored tolerances and slopes (decisions 43 and 45), which no compression makes smaller. What writes
    # test vectors, and what checks layers by themselves, is 60 kB of it. Golden data of norms, latent attention, caches
    # and masks are 310 kB: 174 kB of cases, 103 kB of tolerances, 33 kB of the index; their mistakes, pages, references
    # and random cases 60 kB. The promises of the cases that were released are 84 kB. What reads layers of
    # latent attention and norms of heads is 20 kB, mistakes after thirty public reports 10 kB.
    assert wheel.stat().st_size <= 8_440_000


def test_the_installed_files_are_sound(environment, tmp_path) -> None:
    programs, _ = environment
    count = len([path for path in (ROOT / "golden").rglob("*.json") if path.parent != ROOT / "golden"])
    listed = run(programs / "attnspec", "list", "--json", folder=tmp_path)
    assert len(json.loads(listed)) == count
    shown = run(programs / "attnspec", "show", "documents/003/context_vector", folder=tmp_path)
    assert "expected context" in shown


@pytest.mark.parametrize("command", [["regenerate", "--check"], ["release", "--changes"], ["mistakes", "--matrix"]])
def test_what_only_authors_need_says_where_it_works(environment, tmp_path, command) -> None:
    programs, _ = environment
    done = ended(programs / "attnspec", *command, folder=tmp_path)
    assert done.returncode == 2
    assert "works in a checkout of attnspec" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.proof
def test_the_sdist_gives_the_same_wheel(contents, tmp_path) -> None:
    sdist = built(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path / "source", filter="data")
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/use/packaging/test_wheel.py", "spec/README.md"} <= names
    assert not any(name.startswith((".ci", ".git/", ".venv", "dist")) or "__pycache__" in name for name in names)
    (source,) = (tmp_path / "source").iterdir()
    with zipfile.ZipFile(built(source, "wheel", tmp_path / "again")) as archive:
        assert set(archive.namelist()) == contents.keys()


def test_a_checkout_reads_its_own_files() -> None:
    assert files.GOLDEN_FOLDER == ROOT / "golden"
    assert files.SCHEMA_FOLDER == ROOT / "spec" / "schemas"
    assert files.ERRATA_PAGE == ROOT / "spec" / "errata.md"
