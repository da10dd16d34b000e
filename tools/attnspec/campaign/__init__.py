"""Campaigns: hunting with draws for what golden cases miss, on any number of workers, and going on where one ended."""

from attnspec.campaign.executors import open_executor
from attnspec.campaign.explaining import Evidence, FoundProblem, deadly, evidence_of, explained
from attnspec.campaign.outcome import DrawOutcome, PartOutcome, Tally, tallied
from attnspec.campaign.plan import Kind, Part, Plan, Sought
from attnspec.campaign.running import run_campaign
from attnspec.campaign.working import planned, planned_apart, planned_as_declared, shrunk_failure

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
