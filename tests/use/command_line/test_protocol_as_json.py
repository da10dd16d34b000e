"""``attnspec protocol --check COMMAND --json``: the protocol checks as one document, with the same exit status."""

import json
import shlex
import sys

from attnspec.command_line import main

ENDS = shlex.join([sys.executable, "-c", "pass"])


def test_faults_are_reported_beside_their_checks(capsys):
    assert main(["protocol", "--check", ENDS, "--json"]) == 1
    entries = json.loads(capsys.readouterr().out)
    assert entries[0]["manner"].startswith("answers start")
    assert entries[0]["fault"] == "it ended with exit code 0"


def test_it_is_for_the_check_alone(tmp_path, capsys):
    transcript = tmp_path / "transcript"
    transcript.write_text("", "utf-8")
    assert main(["protocol", "--replay", str(transcript), "--command", ENDS, "--json"]) == 2
    assert "--json is for --check." in capsys.readouterr().err
