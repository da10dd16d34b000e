"""Wrong implementations, each after a bug report: the suite must fail every one of them.

They were written in batches, from reports and not from the cases, and none is a patch of the reference.
"""

from wrong import batch_1, batch_2, batch_3, batch_4, batch_5, batch_6
from wrong.table import TABLE, Wrong

__all__ = ["TABLE", "Wrong", "batch_1", "batch_2", "batch_3", "batch_4", "batch_5", "batch_6"]
