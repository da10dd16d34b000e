"""The proof itself: no mistake survives, no control fails, and every clause has a mistake and a case."""

from attnspec.cases import load_suite
from attnspec.specification import clauses
from attnspec_authoring.proof import find, run_matrix
from attnspec_authoring.proof.findings import ENOUGH, noticed
from attnspec_authoring.proof.smoke import without_superfluous
from attnspec_mistakes import CATALOGUE, CONTROLS


def test_no_mistake_survives_and_no_control_fails():
    matrix = run_matrix(enough=ENOUGH)
    exercised = {clause for case in load_suite().cases.values() for clause in case.clauses}
    findings = find(matrix, clauses(), exercised)
    assert len(matrix.mistakes) == len(CATALOGUE) >= 170
    assert len(matrix.controls) == len(CONTROLS) >= 30
    assert findings.surviving == ()
    assert findings.missed_targets == ()
    assert findings.untargeted == ()
    assert findings.failing_controls == ()
    assert findings.unexercised == ()
    assert findings.unbroken == ()
    assert findings.is_sound


def test_the_smoke_profile_notices_every_mistake_and_holds_no_superfluous_case():
    core = tuple(load_suite(profiles=("smoke",)).cases)
    matrix = run_matrix(select=core, only=[mistake.id for mistake in CATALOGUE])
    unnoticed = [
        (trial.id, dtype) for trial in matrix.mistakes for dtype in trial.shows_in if not trial.noticed_by(dtype)
    ]
    assert unnoticed == [], "compute the profile anew: attnspec mistakes --matrix --write-smoke"
    remembering = {mistake.id for mistake in CATALOGUE if mistake.begin is not None}
    sets = {
        case: frozenset(pair for pair in pairs if pair[0] not in remembering) for case, pairs in noticed(matrix).items()
    }
    superfluous = set(core) - set(without_superfluous(list(core), sets))
    # What depends on earlier calls takes cases that nothing else needs.
    assert len(superfluous) <= 2 * len(remembering)
    assert len(core) < 80
