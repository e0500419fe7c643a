"""Host tasks for tests: addresses of C functions to give to `launch_host`.

`DO_NOTHING` returns at once; `FAIL` throws; `SLEEP` sleeps for the microseconds that its argument,
8 bytes in the machine's order, says.
"""

from infini.rt._rt import test_task

__all__ = ["DO_NOTHING", "FAIL", "SLEEP"]

DO_NOTHING: int = test_task("do_nothing")
FAIL: int = test_task("fail")
SLEEP: int = test_task("sleep")
