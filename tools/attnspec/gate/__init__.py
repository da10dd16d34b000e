"""Gate: a run compared with a baseline, strict without being annoying."""
