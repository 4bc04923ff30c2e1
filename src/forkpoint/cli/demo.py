"""`forkpoint demo`: a conversation, forked at a question and forked two turns back.

The story is told once, here; where it is shown is the `Stage`'s business. Everything in it really
happens, on the database that the story names.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from rich.console import Console

import forkpoint as fp
from forkpoint.cli.arguments import free_session_id, head
from forkpoint.cli.demo_agent import Journal, build_agent
from forkpoint.cli.demo_stage import EmptyStage, PlainStage, Stage, TerminalStage
from forkpoint.cli.forest import cut, plant
from forkpoint.cli.json_printer import JsonPrinter
from forkpoint.cli.printer import Printer, printer_for
from forkpoint.cli.wording import question_text
from forkpoint.model import Comparison, Fork, ForkOrigin
from forkpoint.opening import Store
from forkpoint.timetravel import TimeTravel

REQUESTS = (
    "Find me a flight to Lisbon on Friday.",
    "And a room by the river, two nights.",
    "Good. Book both.",
)
TIMELINE = 8
OTHER_REQUEST = "And a room in the old town, two nights."


@dataclass(frozen=True)
class Outcome:
    """What the demo leaves behind; the document that ``--json`` prints."""

    database: str
    sessions: tuple[str, ...]
    forks: tuple[ForkOrigin, ...]
    world: tuple[str, ...]
    comparison: Comparison


@dataclass
class Story:
    """The demo at work: one store, one agent, one audience."""

    store: Store
    stage: Stage
    session: str
    journal: Journal = field(default_factory=Journal)

    def __post_init__(self) -> None:
        self.agent = build_agent(self.store.saver(), self.journal)
        self.travel = TimeTravel(self.agent)
        self.refused = free_session_id(self.store, f"{self.session}-refused")
        self.old_town = free_session_id(self.store, f"{self.session}-old-town")

    def talk(self) -> None:
        """Three turns, up to the question."""
        for number in (1, 2, 3):
            self._say(self.session, self._request(number))
        self._show_question(self.session)
        self.stage.tell(
            "\nThe agent waits for you. In the same superstep hold_room has finished already:\n"
            "the room is held."
        )

    def fork_at_the_question(self) -> Fork:
        """Yes in the session, no in the fork."""
        self.stage.tell(
            "What if you agree? And what if you do not? Fork the session where it is:\n"
            "a fork is a new session that begins at a checkpoint of another one."
        )
        question = head(self.store, self.session).checkpoint_id
        self.stage.code(f'travel.fork("{self.session}", "{question}", "{self.refused}")')
        started = perf_counter()
        fork = self.travel.fork(self.session, question, self.refused, reason="what if I refuse?")
        self.stage.tell(
            f"{(perf_counter() - started) * 1000:.1f} ms, however long the conversation. "
            "Both sessions have the question now.\n"
        )
        self._answer(self.session, "approve")
        self._answer(self.refused, "refuse")
        self.stage.tell(
            f"\nIn the world: {'; '.join(self.journal.entries)}.\n"
            "The room was held once: the fork knows what was finished before it was taken."
        )
        return fork

    def fork_two_turns_back(self) -> Fork:
        """Another second message, from before the first one was sent."""
        edited = HumanMessage(OTHER_REQUEST, id=self._request(2).id)
        self.stage.tell(
            f'Your second message was "{REQUESTS[1]}"\n'
            "Go back to before it, in a fork, and send another one in its place:"
        )
        self.stage.code(
            f'point = travel.find_checkpoint("{self.session}", before_message="{edited.id}")\n'
            f'travel.fork("{self.session}", point.checkpoint_id, "{self.old_town}")\n'
            'agent.invoke({"messages": [edited]}, '
            f'{{"configurable": {{"thread_id": "{self.old_town}"}}}})'
        )
        point = self.travel.find_checkpoint(self.session, before_message=str(edited.id))
        fork = self.travel.fork(
            self.session, point.checkpoint_id, self.old_town, reason="old town instead"
        )
        self._say(self.old_town, edited)
        self._say(self.old_town, self._request(3))
        self._show_question(self.old_town)
        return fork

    def compare(self) -> Comparison:
        """The two plans for the weekend."""
        return self.travel.compare(head(self.store, self.session), head(self.store, self.old_town))

    def _request(self, number: int) -> HumanMessage:
        return HumanMessage(REQUESTS[number - 1], id=f"{self.session}-{number}")

    def _say(self, session: str, message: HumanMessage) -> None:
        self._run(session, {"messages": [message]})

    def _answer(self, session: str, answer: str) -> None:
        self.stage.tell(f"In {session}:")
        self.stage.answer(answer)
        self._run(session, Command(resume=answer))

    def _run(self, session: str, given: Any) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": session}}
        known = {message.id for message in self._messages(config)}
        self.agent.invoke(given, config)
        self.stage.messages([m for m in self._messages(config) if m.id not in known])

    def _messages(self, config: RunnableConfig) -> list[BaseMessage]:
        messages: list[BaseMessage] = self.agent.get_state(config).values.get("messages", [])
        return messages

    def _show_question(self, session: str) -> None:
        for question in self.travel.get_state(session).interrupts:
            self.stage.question(question_text(question))


def run_demo(database: Path, *, as_json: bool) -> None:
    """Play the demo on `database`, a file that is made if it is not there.

    Raises:
        DatabaseError: the file holds something else than a Forkpoint database.
    """
    with fp.open(str(database)) as store:
        session = free_session_id(store, "lisbon")
        if as_json:
            story = Story(store, EmptyStage(), session)
            JsonPrinter(sys.stdout).document(_play(story, database))
        else:
            story = Story(store, _stage(), session)
            outcome = _play(story, database)
            _show(story, outcome, printer_for(as_json=False))


def _play(story: Story, database: Path) -> Outcome:
    stage = story.stage
    stage.opening(
        "Forkpoint",
        "A travel agent plans a weekend in Lisbon, and you see its conversation being forked:\n"
        "at a question, to answer it both ways, and two turns back, with another message.\n\n"
        "The agent is a real LangGraph graph with tools. Only its chat model is scripted:\n"
        "no network, no key.\n\n"
        f"Database  {database}\nSession   {story.session}",
    )
    stage.chapter("1  A conversation")
    story.talk()
    stage.chapter("2  Fork at the question")
    at_question = story.fork_at_the_question()
    stage.chapter("3  Go back two turns")
    two_back = story.fork_two_turns_back()
    return Outcome(
        database=str(database),
        sessions=(story.session, story.refused, story.old_town),
        forks=(at_question.forked_from, two_back.forked_from),
        world=tuple(story.journal.entries),
        comparison=story.compare(),
    )


def _show(story: Story, outcome: Outcome, printer: Printer) -> None:
    """What is in the database now, as the commands show it, and how to go on."""
    stage, travel = story.stage, story.travel
    stage.chapter("4  The tree")
    family = cut(plant(story.store), story.session)
    printer.tree([family] if family else [])
    stage.chapter("5  The timelines")
    for session in outcome.sessions:
        stage.tell(f"{session}, newest first:")
        entries = travel.get_timeline(session, limit=TIMELINE)
        printer.timeline(story.store.session(session), entries)
        stage.tell("")
    stage.chapter("6  What differs")
    printer.comparison(outcome.comparison)
    stage.chapter("Go on")
    program = _program()
    for text, meaning in (
        (f"export FORKPOINT_DB={shlex.quote(outcome.database)}", "the database of this demo"),
        (f"{program} tree", "every session and where it was forked"),
        (f"{program} log {story.session}", "a timeline, whole"),
        (f"{program} show {story.old_town}", "a state; its question is still open"),
        (f"{program} diff {story.session} {story.refused}", "yes against no"),
        (f"{program} fork {story.session} turn:1", "a fork of your own"),
    ):
        stage.command(text, meaning)


def _stage() -> Stage:
    return TerminalStage(Console()) if sys.stdout.isatty() else PlainStage(sys.stdout)


def _program() -> str:
    """How to call this program again from here: it need not be on the path."""
    return "forkpoint" if shutil.which("forkpoint") else shlex.quote(sys.argv[0])
