"""`attnspec --version`: the version, and the digests of fixtures and clauses."""

import re
from types import MappingProxyType

import pytest

from attnspec import specification
from attnspec.base import __version__
from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.specification import Clause, specification_digest

CLAUSES = {
    "a.first": Clause("a.first", "The first rule.", "a.md"),
    "a.second": Clause("a.second", "The second rule.", "a.md"),
}


def test_it_prints_the_version_and_both_digests(capsys):
    assert main(["--version"]) == 0
    first, suite, spec = capsys.readouterr().out.splitlines()
    assert first == f"attnspec, version {__version__}"
    assert suite.split()[:2] == ["suite", load_suite(select=["core/uniform"]).digest]
    assert spec.split()[:2] == ["spec", specification_digest()]
    assert re.fullmatch("[0-9a-f]{64}", specification_digest())


@pytest.fixture
def digest(monkeypatch):
    """Return the digest of these clauses."""

    def of(clauses):
        monkeypatch.setattr(specification, "clauses", lambda: MappingProxyType(clauses))
        return specification_digest()

    return of


def test_the_digest_of_the_spec_is_that_of_its_rules(digest):
    before = digest(CLAUSES)
    assert digest(dict(reversed(CLAUSES.items()))) == before
    assert digest({**CLAUSES, "a.first": Clause("a.first", "The first rule.", "another.md")}) == before
    assert digest({**CLAUSES, "a.first": Clause("a.first", "Another rule.", "a.md")}) != before
    assert digest({"a.first": CLAUSES["a.first"]}) != before
    assert digest({**CLAUSES, "a.first": Clause("a.second", "The first rule.", "a.md")}) != before
