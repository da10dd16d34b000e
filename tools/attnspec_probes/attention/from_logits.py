"""Findings about what logits are made of: factors of scores, mask and distance, the cap, features that do not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import Finding, clause, in_words
from attnspec_probes.attention.from_keys import from_threshold, is_general
from attnspec_probes.attention.from_scale import from_scale
from attnspec_probes.attention.single_laws.alibi_laws import AlibiLaw, alibi_laws
from attnspec_probes.attention.single_laws.attended_laws import constraints_of, together
from attnspec_probes.attention.single_laws.logit_laws import LogitLaw, Rows, logit_laws, logits_are_right, rows_of
from attnspec_probes.attention.single_laws.plain_laws import feature_law
from attnspec_probes.attention.single_laws.total_laws import total_laws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_probes import Calling
    from attnspec_probes.attention.single_laws.probe import Probe, Reading

_NO_FACTOR = 1e-9
"""A mask of numbers that has no more effect than this is not added."""

_ABOUT_CAP = ("mask capped", "distance capped", "all capped", "capped before scale")
"""Laws in which the cap comes at another step."""


def from_logits(reading: Reading, calling: Calling, dtype: str) -> list[Finding]:
    """Return the laws that all give the logits that were measured, where these are others than the expected ones."""
    probe = reading.probe
    rows = _telling(reading, dtype)
    if rows is None:
        return []
    found = _distance(rows, probe, calling, dtype)
    for law in logit_laws(rows, probe, dtype):
        if law.name == "scale":
            found += from_scale(law.parameters["score_factor"] * probe.scale, probe, calling, dtype)
        else:
            found.append(_of_law(law, probe))
        if law.name == "mask" and abs(law.parameters["mask_factor"]) < _NO_FACTOR:
            found += from_threshold(probe, calling, dtype)
    return found or _features(rows, probe)


def _telling(reading: Reading, dtype: str) -> Rows | None:
    """Return the findings of the rows; None where the logits are right."""
    probe = reading.probe
    rows = rows_of(reading, with_sinks=False)
    if rows is None or logits_are_right(rows, probe, dtype):
        # Beside a sink, what all keys of a row lose or gain shows, too; unless the sink is wrong.
        rows = rows_of(reading) if "sinks" in probe.inputs and not total_laws(reading, dtype) else None
    return None if rows is None or logits_are_right(rows, probe, dtype) else rows


def _distance(rows: Rows, probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    """Return the bias of ALiBi; where positions are off, by itself or together with all else that they decide."""
    found: list[Finding] = []
    laws = alibi_laws(rows, probe, dtype)
    of_position = any(law.about == "position" for law in laws)
    is_for_all = of_position and bool(is_general(probe, calling, dtype))
    for law in laws:
        general = is_for_all and law.about == "position"
        kind = {"position": "offset", "heads": "head map"}.get(law.about, law.about)
        reported = f"Logits lose slope times distance, where {law.words}{', for all else, too' if general else ''}."
        named = clauses.of_alignment(probe) if general else clause(f"alibi.{law.about}")
        parameters: dict[str, float | str] = {"rule": law.words, "offset": float(law.offset)}
        found.append(Finding(kind, (named,), reported, parameters, _by_distance(law, for_all=general)))
    return found


def _by_distance(law: AlibiLaw, *, for_all: bool) -> Callable[[Probe], NDArray[Any]]:
    """Return what gives the output by a law of ALiBi, alone or with all other positions as it has them."""

    def output(of: Probe) -> NDArray[Any]:
        attended = together(of, constraints_of(of, law.at(of))) if for_all else of.placing.attendable
        return of.output_by(of.capped(of.scores) + of.mask + law.bias(of), attended)

    return output


def _of_law(law: LogitLaw, probe: Probe) -> Finding:
    return Finding(
        _kind(law.name),
        _clauses_of(law, probe),
        f"Logits are other ones: {law.name}{in_words(law.parameters)}.",
        dict(law.parameters),
        lambda of: of.output_by(law.logits(of)),
    )


def _kind(name: str) -> str:
    if "cap" in name or name == "clipped":
        return "cap"
    return "mask" if name.startswith("mask") else name


def _clauses_of(law: LogitLaw, probe: Probe) -> tuple[str, ...]:
    if law.name in _ABOUT_CAP:
        return (clause("softcap.order"),)
    if law.name.startswith(("cap", "clipped", "uncapped")):
        return (clause("softcap.definition" if probe.softcap else "softcap.off"),)
    if law.name.startswith("mask "):
        return (clauses.of_mask(probe),)
    named = {
        "scale": clauses.of_scale(probe),
        "mask": clauses.of_mask(probe),
        "distance": clause("alibi.distance"),
    }
    return tuple(of for name, of in named.items() if name in law.name) or clauses.of_arguments(probe.arguments)


def _features(rows: Rows, probe: Probe) -> list[Finding]:
    law = feature_law(rows, probe)
    if law is None:
        return []
    if law.lost:
        reported = f"Features {', '.join(map(str, law.lost))} do not count in the scores."
    else:
        reported = f"Features count with factors from {law.factors.min():.6g} to {law.factors.max():.6g}."
    return [Finding("features", clauses.clauses(("scores",)), reported, {"lost": float(len(law.lost))})]
