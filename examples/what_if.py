"""What if I had said something else? Fork before a message and send another one.

Run it with `python examples/what_if.py`.
"""

from langchain_core.messages import HumanMessage

import forkpoint as fp
from forkpoint.cli.demo_agent import build_agent


def main() -> None:
    with fp.open("sqlite:///:memory:") as store:
        agent = build_agent(store.saver())
        travel = fp.TimeTravel(agent)

        def say(session_id: str, text: str, message_id: str) -> None:
            message = HumanMessage(text, id=message_id)
            agent.invoke({"messages": [message]}, {"configurable": {"thread_id": session_id}})
            print(f"{session_id:>15}  you    {text}")
            print(f"{'':>15}  agent  {travel.get_state(session_id).values['messages'][-1].text}")

        say("lisbon", "Find me a flight to Lisbon.", "m1")
        say("lisbon", "And a room by the river.", "m2")

        point = travel.find_checkpoint("lisbon", before_message="m2")
        travel.fork("lisbon", point.checkpoint_id, "lisbon-old-town", reason="what if?")
        say("lisbon-old-town", "And a room in the old town.", "m2")

        here = travel.get_state("lisbon").config.ref
        there = travel.get_state("lisbon-old-town").config.ref
        print("\nMessages that differ:")
        for change in travel.compare(here, there).changes:
            for message in change.messages:
                text = (message.after or message.before).text
                print(f"  {message.kind:>8}  {text or '(a tool call)'}")


if __name__ == "__main__":
    main()
