"""An agent asks before it deletes. Fork it at the question, and answer both ways.

Run it with `python examples/fork_at_a_question.py`.
"""

from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import forkpoint as fp


class Cleanup(TypedDict, total=False):
    found: list[str]
    deleted: list[str]


def look(state: Cleanup) -> Cleanup:
    print("  (looking for old files: this happens once)")
    return {"found": ["a.tmp", "b.tmp"]}


def delete(state: Cleanup) -> Cleanup:
    agreed = interrupt(f"Delete {', '.join(state['found'])}?")
    return {"deleted": state["found"] if agreed else []}


def thread(session_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": session_id}}


def main() -> None:
    with fp.open("sqlite:///:memory:") as store:
        builder = StateGraph(Cleanup)
        builder.add_node("look", look)
        builder.add_node("delete", delete)
        builder.add_edge(START, "look")
        builder.add_edge("look", "delete")
        graph = builder.compile(checkpointer=store.saver())
        travel = fp.TimeTravel(graph)

        graph.invoke({}, thread("cleanup"))
        state = travel.get_state("cleanup")
        print("The agent asks:", state.interrupts[0].value)

        travel.fork("cleanup", state.config.checkpoint_id, "cleanup-refused")
        graph.invoke(Command(resume=True), thread("cleanup"))
        graph.invoke(Command(resume=False), thread("cleanup-refused"))

        for session_id in ("cleanup", "cleanup-refused"):
            print(f"{session_id}: deleted {travel.get_state(session_id).values['deleted']}")


if __name__ == "__main__":
    main()
