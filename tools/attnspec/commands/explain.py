"""``attnspec explain WORD``: a clause, a mistake, an erratum, a case, or any other word of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import printing_json

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.specification import Clause, Erratum
    from attnspec_mistakes import Mistake

_MOST_LISTED = 8


@click.command()
@with_options_of("explain")
def explain(word: str, *, as_json: bool) -> None:
    """Explain a WORD: the id of a clause, mistake, erratum or case, or any other word that a report uses.

    Such words name operations, conventions, capabilities, profiles, layouts, dtypes, statuses, checks; each of these
    kinds, too, is a WORD, which lists its words.
    """
    with printing_json(requested=as_json, make=lambda text: {"word": word, "explanation": text.splitlines()}):
        _explain(word)


def _explain(word: str) -> None:
    from attnspec.command_line.vocabulary import plurals, vocabulary_words, words_of_kind
    from attnspec.specification import clauses, errata
    from attnspec_mistakes import CATALOGUE, rarer_mistakes

    mistakes = {mistake.id: mistake for mistake in (*CATALOGUE, *rarer_mistakes())}
    vocabulary = vocabulary_words()
    if word in clauses():
        _explain_clause(clauses()[word], CATALOGUE)
    elif word in errata():
        _explain_erratum(errata()[word], CATALOGUE)
    elif word in mistakes:
        _explain_mistake(mistakes[word])
    elif word in vocabulary:
        for number, meaning in enumerate(vocabulary[word]):
            click.echo(f"{chr(10) if number else ''}{meaning.word} ({meaning.kind}): {meaning.sentence}")
            for line in meaning.more:
                click.echo(f"  {line}")
    elif word in plurals():
        for meaning in words_of_kind(word):
            click.echo(f"{meaning.word}: {meaning.sentence}")
    else:
        others = (*clauses(), *errata(), *mistakes, *vocabulary, *plurals())
        _explain_case(find_case(word, None, others=others, or_else="clause, erratum, mistake, case or word"), mistakes)


def find_case(case_id: str, golden: Path | None, *, others: Sequence[str] = (), or_else: str = "case") -> Case:
    """Return the case of an id, or of a random case's seed text; `UsageError` names near ids, or `others`' words."""
    from attnspec.base.files import GOLDEN_FOLDER
    from attnspec.cases import is_random, load_suite, near, random_case, read_index

    if is_random(case_id):
        return random_case(case_id)
    ids = read_index(golden or GOLDEN_FOLDER)
    if case_id not in ids:
        raise UsageError(f"There is no {or_else} {case_id!r}.{near(case_id, (*ids, *others))}")
    return load_suite(golden, select=(case_id,)).cases[case_id]


def _explain_clause(clause: Clause, catalogue: Sequence[Mistake]) -> None:
    click.echo(f"{clause.id} (clause, spec/operations/{clause.page})\n{clause.text}")
    _echo_mistakes([mistake for mistake in catalogue if mistake.clause == clause.id])
    _echo_cases(lambda case: clause.id in case.clauses)


def _explain_erratum(erratum: Erratum, catalogue: Sequence[Mistake]) -> None:
    click.echo(f"{erratum.id} (erratum, spec/errata.md): {erratum.title}\n\n{erratum.text}")
    _echo_mistakes([mistake for mistake in catalogue if mistake.erratum == erratum.id])
    _echo_cases(lambda case: erratum.id in case.errata)


def _explain_mistake(mistake: Mistake) -> None:
    from attnspec.cases import load_suite
    from attnspec.diagnosis.differences import difference_made
    from attnspec.specification import clause_text, errata

    click.echo(f"{mistake.id} (mistake)\n{mistake.sentence}")
    if mistake.engineer:
        click.echo(f"In a kernel: {mistake.engineer}")
    if mistake.in_layout:
        click.echo(f"It can be made with --layout {' or '.join(mistake.in_layout)} alone.")
    click.echo(f"\nWhat to do: {mistake.remedy}")
    click.echo(f"It breaks {mistake.clause}: {clause_text(mistake.clause)}")
    if mistake.erratum:
        click.echo(f"A source document makes it: {mistake.erratum}, {errata()[mistake.erratum].title}.")
    if mistake.source:
        click.echo(f"Made in public: {mistake.source}")
    difference = difference_made(mistake, load_suite(whole=True).cases.values())
    if difference is not None:
        click.echo(f"\nThe difference it makes: {difference}")
    _echo_cases(lambda case: mistake.id in case.targets)


def _explain_case(case: Case, mistakes: dict[str, Mistake]) -> None:
    from attnspec.specification import clause_text, errata

    click.echo(f"{case.id} (case of {case.operation}, profile {case.profile})\n{case.title}")
    click.echo(f"Source: {', '.join(case.source.values())}")
    if case.rejects is not None:
        click.echo(f"It must be refused: {case.rejects.reason} Its valid counterpart is {case.rejects.counterpart}.")
    click.echo("\nClauses:")
    for clause_id in case.clauses:
        click.echo(f"  {clause_id}: {clause_text(clause_id)}")
    if case.targets:
        click.echo("\nIt is there to catch:")
    for target in case.targets:
        click.echo(f"  {target}: {mistakes[target].sentence}" if target in mistakes else f"  {target}")
    for erratum in case.errata:
        click.echo(f"\nErratum {erratum}: {errata()[erratum].title if erratum in errata() else 'see spec/errata.md'}")
    if case.conventions:
        click.echo(f"\nIt depends on the conventions {', '.join(case.conventions)}.")
    click.echo(f"\n`attnspec show {case.id}` prints its numbers, with --python as a script.")


def _echo_mistakes(mistakes: Sequence[Mistake]) -> None:
    if mistakes:
        click.echo("\nmistakes:")
    for mistake in mistakes:
        click.echo(f"  {mistake.id}: {mistake.sentence}")


def _echo_cases(is_about: Callable[[Case], bool]) -> None:
    from attnspec.cases import load_suite

    cases = filter(is_about, load_suite(whole=True).cases.values())
    # Those that everybody can look up first, then those that are about little else.
    found = sorted(cases, key=lambda case: (case.profile != "documents", len(case.clauses)))
    if not found:
        return
    click.echo("\ncases:")
    for case in found[:_MOST_LISTED]:
        click.echo(f"  {case.id}: {case.title}")
    if len(found) > _MOST_LISTED:
        click.echo(f"  … and {len(found) - _MOST_LISTED} more")
