"""Progress of a run on a terminal: the share of the plan done, the rate, and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class _Rate(ProgressColumn):
    """Results a second."""

    def render(self, task: Task) -> Text:
        speed = task.speed
        return Text("" if speed is None or task.finished else f"{speed:.0f}/s", style="cyan")


class ProgressBar(Progress):
    """Progress bar that reads `done` (results) and `planned` (None while unknown) at each drawing; gone at the end."""

    def __init__(self, console: Console, done: Callable[[], int], planned: Callable[[], int | None]) -> None:
        self._done = done
        self._planned = planned
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            expand=True,
        )
        self._run = self.add_task("validating", total=None)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bar as the run stands now."""
        if self.task_ids:
            done, planned = self._done(), self._planned()
            # Each case is run a second time, in another order, once all have a result; how many, nobody knows before.
            again = planned is not None and done >= planned
            stage = "calling again" if again else "validating"
            self.update(self._run, completed=done, total=planned, description=stage)
        return super().get_renderables()
