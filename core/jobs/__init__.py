"""Training in worker processes, never in the caller's: many runs share a few workers, and none is lost with one."""

from core.jobs.job import Job
from core.jobs.jobs import Jobs

__all__ = ["Job", "Jobs"]
