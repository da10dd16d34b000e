"""The guide to vectors: every command in it works as it stands, in the order of the page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "spec" / "guides" / "vectors.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line[2:] for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]


def test_every_file_that_it_names_is_there():
    targets = re.findall(r"\]\(([^)#]+)", TEXT)
    assert len(targets) >= 1
    for target in targets:
        assert (GUIDE.parent / target).exists(), target


def test_every_command_works_in_the_order_of_the_page(tmp_path, warm_commands):
    shutil.copy(ROOT / "tests" / "examples" / "consumers" / "python" / "attention.py", tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in COMMANDS:
        command, _, status = line.partition("  # ends with ")
        program, *words = shlex.split(command)
        if program == "attnspec":
            # Of the whole release, the tests make the part that the page reads.
            only = ["--operation", "scaled_dot_product_attention", "--profile", "core"]
            done = warm_commands.run(*words, *only, cwd=tmp_path)
        else:
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
        assert done.returncode == int(status or 0), f"{line}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
