"""Controls of the simulated accelerator, for tests of everything that stands on the runtime.

All raise NotImplementedError in a build without the sim backend.
"""

from infini.rt._rt import sim_call_counts as call_counts
from infini.rt._rt import sim_fault_points as fault_points
from infini.rt._rt import sim_set_fault_plan as set_fault_plan
from infini.rt._rt import sim_set_task_delay as set_task_delay

__all__ = ["call_counts", "fault_points", "set_fault_plan", "set_task_delay"]
