"""Implementations in processes of their own: the protocol, its messages, and who keeps watch."""
