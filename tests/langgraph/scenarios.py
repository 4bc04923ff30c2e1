"""What is done with each graph: turns, answers, updates, replays."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.graph import END
from langgraph.types import Command, Interrupt, StateSnapshot, StateUpdate

from tests.langgraph import graphs
from tests.langgraph.script import (
    Action,
    BulkUpdate,
    History,
    Invoke,
    Script,
    State,
    Update,
    at_step,
)

Steps = Generator[Action, Any, None]
SEQUENTIAL: Any = {"max_concurrency": 1}
"""For parallel subgraphs: each makes checkpoint ids, and their order must be the same each run."""


@dataclass(frozen=True)
class Scenario:
    """A graph and what is done with it."""

    name: str
    build: Callable[[graphs.Saver], graphs.Graph]
    script: Script
    build_async: Callable[[graphs.Saver], graphs.Graph] | None = None


def first_question(state: StateSnapshot) -> Interrupt:
    """The first open question of a snapshot."""
    return state.interrupts[0]


def turns() -> Steps:
    for number in range(4):
        yield Invoke({"messages": [HumanMessage(f"question {number}", id=f"h{number}")]})
        yield State()


def edit_messages() -> Steps:
    yield Invoke({"messages": [HumanMessage("one", id="h0")]})
    yield Update({"messages": [HumanMessage("edited", id="h0")]}, as_node="polish")
    yield Update({"messages": [RemoveMessage(id="a1")]})
    yield Invoke({"messages": [HumanMessage("two", id="h1")]})
    history = yield History()
    yield Invoke({"messages": [HumanMessage("other", id="h9")]}, at=at_step(history, 1).config)
    yield Invoke(None, at=at_step(history, 0).config)
    yield Update(None, at=at_step(history, 0).config)
    yield Invoke(None)


def three_turns() -> Steps:
    for number in range(3):
        yield Invoke({"log": [f"turn {number}"], "last": str(number)})


def run_ids() -> Steps:
    for run in ("r1", "r1", "r2"):
        yield Invoke(
            {"log": [run], "last": run},
            extra={"metadata": {"run_id": run, "user": "u"}, "configurable": {"tag": 3}},
        )


def answer_in_turn() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield State()
    for answer in ("one", "two", "three"):
        yield Invoke(None)
        yield Invoke(Command(resume=answer))
        yield State()
    yield Invoke(Command(resume="nothing to answer"))


def answer_by_id() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    state = yield State()
    second = state.interrupts[1]
    yield Invoke(Command(resume={second.id: "second"}))
    state = yield State()
    yield Invoke(Command(resume={first_question(state).id: "first"}))


def answer_all() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    state = yield State()
    yield Invoke(Command(resume={item.id: f"yes {n}" for n, item in enumerate(state.interrupts)}))
    yield State()


def answer_sent_subgraphs() -> Steps:
    yield Invoke({"log": ["in"], "last": ""}, extra=SEQUENTIAL)
    state = yield State()
    yield Invoke(Command(resume={state.interrupts[1].id: "second"}), extra=SEQUENTIAL)
    state = yield State()
    yield Invoke(Command(resume={state.interrupts[0].id: "first"}), extra=SEQUENTIAL)


def answer_differently_later() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    paused = yield State()
    yield Invoke(Command(resume="YES"))
    yield Invoke(Command(resume="NO"), at=paused.config)
    yield Invoke(None, at=paused.config)
    yield State()
    yield Invoke(Command(resume="THIRD"))


def replace_the_input() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield Invoke({"log": ["another"], "last": "x"})
    yield Invoke(Command(resume="answer", update={"log": ["with an update"]}))
    yield Invoke(Command(update={"log": ["update only"]}))
    yield Invoke(Command(goto="last"))


def nested_question() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    state = yield State()
    sub = state.tasks[0].state
    yield History(at=sub.config)
    deep = sub.tasks[0].state
    yield History(at=deep.config)
    yield Update({"log": ["patched inside"]}, at=deep.config)
    yield Invoke(Command(resume="deep"))
    yield State()
    yield Invoke({"log": ["again"], "last": ""})
    yield Invoke(Command(resume="deep again"))


def nested_replay() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    paused = yield State()
    deep = paused.tasks[0].state.tasks[0].state
    yield Invoke(Command(resume="deep"))
    history = yield History()
    yield Invoke(None, at=at_step(history, 1).config)
    yield Invoke(Command(resume="second time"))
    yield Invoke(None, at=deep.config)
    yield State()


def memory_turns() -> Steps:
    for number in range(4):
        yield Invoke({"log": [], "last": f"t{number}"})
        yield State()
        yield Invoke(Command(resume="!"))
    history = yield History()
    yield Invoke({"log": [], "last": "branch"}, at=history[len(history) // 2].config)
    yield Invoke(Command(resume="?"))


def delta_turns() -> Steps:
    for number in range(5):
        yield Invoke({"log": [f"in{number}"], "other": [], "plain": []})
    history = yield History()
    old = history[len(history) // 2]
    yield Invoke({"log": ["branch"], "other": [], "plain": []}, at=old.config)
    yield Update({"log": ["patched"]}, as_node="reset")
    yield Update({"log": ["patched old"]}, as_node="reset", at=old.config)
    yield Invoke(None)
    yield Invoke({"log": ["last"], "other": [], "plain": []})
    yield Invoke(None, at=at_step(history, 0).config)


def delta_question() -> Steps:
    yield Invoke({"log": ["in"]})
    yield State()
    yield Invoke(Command(resume="yes"))
    yield Invoke({"log": ["in again"]})
    yield Invoke(None)
    yield Invoke(Command(resume="yes again"))


def updates() -> Steps:
    yield Update({"log": ["before anything"], "last": "0"}, as_node="a")
    yield Invoke({"log": ["in"], "last": ""})
    history = yield History()
    yield Update({"log": ["at the head"]}, as_node="b")
    yield Update({"log": ["ambiguous"]})
    yield Update({"log": ["old"]}, as_node="a", at=at_step(history, 2).config)
    yield State()
    yield Invoke(None)
    yield Update(None, at=at_step(history, 2).config)
    yield Update(None, as_node=END, at=at_step(history, 2).config)
    yield Update(None, as_node="__copy__", at=at_step(history, 3).config)
    yield Invoke(None)
    yield BulkUpdate([[StateUpdate({"log": ["x"]}, "a")]])
    yield BulkUpdate(
        [
            [
                StateUpdate({"log": ["bulk a"]}, "a"),
                StateUpdate({"log": ["bulk b"]}, "b"),
                StateUpdate({"log": ["bulk c"]}, "c"),
            ],
            [StateUpdate({"log": ["bulk join"]}, "join")],
        ],
        at=at_step(history, 2).config,
    )
    yield Invoke(None)
    yield Update({"log": ["bad"]}, as_node="no such node")


def update_at_pause() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield Update({"log": ["while paused"]}, as_node="pay")
    yield State()
    yield Invoke(Command(resume="answer"))
    history = yield History()
    yield Update({"log": ["answered for it"]}, as_node="confirm", at=history[-2].config)
    yield State()
    yield Invoke(None)


def replays() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield Invoke({"log": ["in 2"], "last": ""})
    history = yield History()
    for step in (2, 0, -1, 5):
        yield Invoke(None, at=at_step(history, step).config)
    head = yield State()
    yield Invoke(None, at=head.config)
    yield Invoke(None)
    yield Invoke({}, at=at_step(history, 1).config)
    yield Invoke(
        None, at={"configurable": {"checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875"}}
    )
    yield State(at=at_step(history, 1).config)


def pauses() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield State()
    yield Invoke(None)
    history = yield History()
    yield Update({"log": ["at the breakpoint"]})
    yield Invoke(None)
    yield Invoke(None, at=history[-2].config)
    yield Invoke(None)
    yield Invoke({"log": ["new"], "last": ""})


def retries() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield State()
    yield Invoke(None)
    yield Invoke(None)
    yield State()
    yield Invoke(None)
    yield Invoke({"log": ["after the errors"], "last": ""})


def agent_turns() -> Steps:
    for number in range(3):
        yield Invoke({"messages": [HumanMessage(f"please {number}", id=f"u{number}")]})
        yield State()
        yield Invoke(Command(resume="approved" if number % 2 else "refused"))
    history = yield History()
    yield Invoke(
        {"messages": [HumanMessage("instead", id="u9")]}, at=history[len(history) // 2].config
    )


def workflow_runs() -> Steps:
    for numbers in ([1, 2], [3], [4, 5, 6]):
        yield Invoke(numbers)
        yield State()
        yield Invoke(None)
        yield Invoke(Command(resume=f"ok {len(numbers)}"))
    history = yield History()
    yield Invoke(None, at=history[0].config)


def fill_twice() -> Steps:
    yield Invoke({"values": [], "table": {}})
    yield Invoke({"values": [graphs.Point(3, 4)], "table": {}})


def commanded() -> Steps:
    yield Invoke({"log": ["in"], "last": ""})
    yield Invoke(Command(resume="yes", goto="left"))
    yield Invoke(Command(goto="start", update={"last": "jumped"}))
    yield Invoke(Command(resume="again"))


def counted() -> Steps:
    yield Invoke({"count": 0, "log": []})
    history = yield History()
    yield Invoke(None, at=at_step(history, 4).config)
    yield Invoke({"count": 6, "log": []})


SCENARIOS = (
    Scenario("chat", graphs.chat, turns),
    Scenario("chat_edited", graphs.chat, edit_messages),
    Scenario("parallel_join", graphs.parallel_join, three_turns),
    Scenario("run_ids", graphs.parallel_join, run_ids),
    Scenario("send_fanout", graphs.send_fanout, three_turns),
    Scenario("send_fanout_replays", graphs.send_fanout, replays),
    Scenario("send_with_questions", graphs.send_with_questions, answer_all),
    Scenario("send_answered_by_id", graphs.send_with_questions, answer_by_id),
    Scenario("questions", graphs.questions, answer_in_turn),
    Scenario("questions_answered_again", graphs.questions, answer_differently_later),
    Scenario("questions_replaced", graphs.questions, replace_the_input),
    Scenario("questions_updated", graphs.questions, update_at_pause),
    Scenario("two_askers", graphs.two_askers, answer_by_id),
    Scenario("two_askers_at_once", graphs.two_askers, answer_all),
    Scenario("nested_question", graphs.nested, nested_question),
    Scenario("nested_replay", graphs.nested, nested_replay),
    Scenario("sent_subgraphs", graphs.sent_subgraphs, answer_sent_subgraphs),
    Scenario("remembering_subgraph", graphs.remembering_subgraph, memory_turns),
    Scenario("delta_frequency_1", graphs.delta(1), delta_turns),
    Scenario("delta_frequency_2", graphs.delta(2), delta_turns),
    Scenario("delta_frequency_1000", graphs.delta(1000), delta_turns),
    Scenario("delta_with_question", graphs.delta_with_question, delta_question),
    Scenario("commands", graphs.commands, commanded),
    Scenario("updates", graphs.parallel_join, updates),
    Scenario("replays", graphs.parallel_join, replays),
    Scenario("breakpoints", graphs.breakpoints, pauses),
    Scenario("errors_and_retries", graphs.failing, retries),
    Scenario("tool_agent", graphs.tool_agent, agent_turns),
    Scenario("functional", graphs.functional, workflow_runs, graphs.functional_async),
    Scenario("rich_values", graphs.rich_values, fill_twice),
    Scenario("loop", graphs.loop, counted),
)
