"""Parallel execution: in this process, in a process pool or on a Dask cluster."""

from motionloom.parallel.cluster import ClusterError, ClusterExecutor, local_cluster
from motionloom.parallel.execution import (
    ProcessPool,
    Progress,
    SerialExecutor,
    TaskResult,
    WorkerDied,
    available_cores,
    available_workers,
    completed,
    executor,
    is_on_cluster,
    on_cluster,
)  # fmt: skip
from motionloom.parallel.shares import Share
from motionloom.parallel.threads import one_thread, use_one_thread

__all__ = [
    "ClusterError", "ClusterExecutor", "ProcessPool", "Progress", "SerialExecutor", "Share",
    "TaskResult", "WorkerDied", "available_cores", "available_workers", "completed", "executor",
    "is_on_cluster", "local_cluster", "on_cluster", "one_thread", "use_one_thread",
]  # fmt: skip
