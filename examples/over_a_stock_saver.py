"""Time travel over LangGraph's own SqliteSaver: nothing about the agent changes.

Needs langgraph-checkpoint-sqlite. Run it with `python examples/over_a_stock_saver.py`.
"""

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

import forkpoint as fp
from forkpoint.cli.demo_agent import build_agent


def thread(session_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": session_id}}


def main() -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        agent = build_agent(saver)
        for text in ("Find me a flight to Lisbon.", "And a room.", "Book both."):
            agent.invoke({"messages": [HumanMessage(text)]}, thread("lisbon"))

        travel = fp.TimeTravel(agent)
        print("The timeline, newest first:")
        for entry in travel.get_timeline("lisbon", limit=5):
            print(f"  step {entry.step:>2}  {entry.source:<6}  {entry.title}")

        question = travel.get_state("lisbon")
        plan = travel.fork_plan("lisbon", question.config.checkpoint_id, "lisbon-2")
        print(f"A fork here copies {plan.checkpoints} checkpoints and {plan.writes} writes.")

        travel.fork("lisbon", question.config.checkpoint_id, "lisbon-2")
        for session_id, answer in (("lisbon", "approve"), ("lisbon-2", "refuse")):
            agent.invoke(Command(resume=answer), thread(session_id))
            print(f"{session_id}: {travel.get_state(session_id).values['messages'][-1].text}")


if __name__ == "__main__":
    main()
