"""Campaigns: hunting with draws for what golden cases miss, on any number of workers, and going on where one ended."""

from attnspec_draws.campaign.executors import open_executor
from attnspec_draws.campaign.explaining_failures import Evidence, FoundProblem, deadly, evidence_of, explained
from attnspec_draws.campaign.outcome import DrawOutcome, PartOutcome, Tally, tallied
from attnspec_draws.campaign.plan import Kind, Part, Plan, Sought
from attnspec_draws.campaign.working import planned, planned_apart, planned_as_declared, run_campaign, shrunk_failure

__all__ = [
    "DrawOutcome",
    "Evidence",
    "FoundProblem",
    "Kind",
    "Part",
    "PartOutcome",
    "Plan",
    "Sought",
    "Tally",
    "deadly",
    "evidence_of",
    "explained",
    "open_executor",
    "planned",
    "planned_apart",
    "planned_as_declared",
    "run_campaign",
    "shrunk_failure",
    "tallied",
]
