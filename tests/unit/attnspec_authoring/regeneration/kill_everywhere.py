"""Kill a regeneration at each file operation in turn; prints how many moments there were.

Each time the folder is in an old state, a forked child brings it up to date and ends without any farewell at one
of its file operations. Run by test_atomicity.
"""

import itertools
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from attnspec_authoring.recipes.attention import documents
from attnspec_authoring.regeneration import regenerate, writing

OPERATIONS = {"open", "os.chmod", "os.mkdir", "os.remove", "os.rename"}
KILLED = 9
CASES = {case.id: case for case in documents.cases()}
NEW = tuple(CASES[f"documents/{name}"] for name in ("002/causal_mask_boolean", "003/context_vector", "002/split_heads"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(folder: Path, contents: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def regenerate_until(moment: int, folder: Path) -> None:
    operations = itertools.count(1)

    def kill(event: str, arguments: tuple) -> None:
        here = arguments and isinstance(arguments[0], str | os.PathLike) and str(folder) in str(arguments[0])
        if event in OPERATIONS and here and next(operations) == moment:
            os._exit(KILLED)

    sys.addaudithook(kill)
    regenerate(folder)
    os._exit(0)


def main(folder: Path) -> int:
    writing.authored_cases, writing.sampled_cases = (lambda: NEW), tuple
    regenerate(folder)
    new = files(folder)
    writing.authored_cases = lambda: tuple(replace(case, title="Old") for case in NEW[:2])
    put(folder, {"orphan.json": b"{}"})
    regenerate(folder)
    old = {**files(folder), "orphan.json": b"{}"}
    writing.authored_cases = lambda: NEW
    for moment in itertools.count(1):
        put(folder, old)
        child = os.fork()
        if child == 0:
            regenerate_until(moment, folder)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        present = files(folder)
        for name in {*old, *new}:
            content = present.get(name)
            assert content in (old.get(name), new.get(name)), f"{name} is half written at moment {moment}"
        assert all(name.endswith(".new") for name in present.keys() - {*old, *new})
        regenerate(folder)
        assert files(folder) == new, f"not mended after moment {moment}"
        if status == 0:
            return moment - 1
        assert status == KILLED, f"the child ended with {status}"
    return 0


if __name__ == "__main__":
    print(main(Path(sys.argv[1]).resolve()))
