"""What `make bench` measures: each figure is a ratio to a yardstick that was timed in the same run, in turn with it."""

from ratios.campaigns import CAMPAIGNS
from ratios.draws import DRAWS
from ratios.first_failure import FIRST_FAILURE
from ratios.processes import PROCESSES
from ratios.timing import Measured, Measurement, measured_from

EVERY: tuple[Measurement, ...] = (*PROCESSES, *FIRST_FAILURE, *DRAWS, *CAMPAIGNS)

__all__ = ["EVERY", "Measured", "Measurement", "measured_from"]
