"""What can go wrong when a number is certified."""


class OracleError(Exception):
    """A number could not be certified at the highest precision that the oracle tries."""
