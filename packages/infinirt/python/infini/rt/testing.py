"""Host tasks for tests: addresses of C functions to give to `launch_host`.

`DO_NOTHING` returns at once; `FAIL` throws; `SLEEP` sleeps for the microseconds that its argument,
8 bytes in the machine's order, says.
"""

from infini.rt._rt import TASK_DO_NOTHING as DO_NOTHING
from infini.rt._rt import TASK_FAIL as FAIL
from infini.rt._rt import TASK_SLEEP as SLEEP

__all__ = ["DO_NOTHING", "FAIL", "SLEEP"]
