"""The guide to modules: its module is validated by its commands, in the order of the page, and nothing is wrong."""

import os
import re
import shlex
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "spec" / "guides" / "modules.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
COMMANDS = [line[2:] for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]


def test_every_command_of_the_guide_works(tmp_path, warm_commands):
    (module,) = (block for kind, block in BLOCKS if kind == "python")
    (tmp_path / "model.py").write_text(module, encoding="utf-8")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    assert len(COMMANDS) >= 4
    for command in COMMANDS:
        ended = warm_commands.run(*shlex.split(command)[1:], cwd=tmp_path, env=environment)
        assert ended.returncode == 0, command + ended.stdout + ended.stderr
        if "validate" in command:
            assert re.search(r"multi_head_attention +(\d+)/\1 ", ended.stdout), ended.stdout
    assert "read_layer(" in (tmp_path / "adapter.py").read_text(encoding="utf-8")
