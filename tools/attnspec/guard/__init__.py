"""Guard: a run in a process of its own, whatever becomes of that process."""
