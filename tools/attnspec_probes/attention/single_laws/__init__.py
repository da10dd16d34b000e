"""Laws of attention that probes measure, a subject a module."""
