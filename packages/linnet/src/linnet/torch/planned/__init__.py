"""Plans: an entry divided over back ends, and steps captured to be replayed."""

from linnet.torch.planned.capture_report import CaptureReport
from linnet.torch.planned.captured import Captured
from linnet.torch.planned.conform import Finding
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.plan import Plan
from linnet.torch.planned.recording import RecordingWarning
from linnet.torch.planned.report import Report

__all__ = [
    "CaptureReport",
    "Captured",
    "Finding",
    "Plan",
    "PlanContext",
    "RecordingWarning",
    "Report",
]
