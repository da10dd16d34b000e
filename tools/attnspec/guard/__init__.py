"""The guard: a run in a process of its own, whatever that process may come to."""
