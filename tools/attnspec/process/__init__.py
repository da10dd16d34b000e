"""Implementations in processes of their own: the protocol, its messages, and the watchdog."""
