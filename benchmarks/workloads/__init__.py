"""The five workloads, each made by a real LangGraph graph whose nodes follow a script."""

from benchmarks.workloads.chat import CHAT, DELTA_CHAT
from benchmarks.workloads.graph import Workload
from benchmarks.workloads.nested import NESTED
from benchmarks.workloads.recording import Put, PutWrites, Recording, record
from benchmarks.workloads.tiny import TINY
from benchmarks.workloads.wide import WIDE

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for workload in (CHAT, DELTA_CHAT, WIDE, NESTED, TINY)
}

__all__ = ["WORKLOADS", "Put", "PutWrites", "Recording", "Workload", "record"]
