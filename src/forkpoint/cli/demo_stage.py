"""Where the demo is played: a terminal, a pipe, or nowhere (``--json``).

A stage shows what the story says; what came out of it (trees, timelines, comparisons) goes
through the same `Printer` as the commands use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from forkpoint.cli.excerpt import call_text, message_line, one_line


class Stage(Protocol):
    """What the story needs to tell itself."""

    def opening(self, title: str, text: str) -> None: ...

    def chapter(self, title: str) -> None: ...

    def tell(self, text: str) -> None: ...

    def code(self, text: str) -> None: ...

    def messages(self, messages: Sequence[BaseMessage]) -> None: ...

    def question(self, text: str) -> None: ...

    def answer(self, text: str) -> None: ...

    def command(self, text: str, meaning: str) -> None: ...


@dataclass(frozen=True)
class TerminalStage:
    """Colour and panels, fitted to the window."""

    console: Console

    def opening(self, title: str, text: str) -> None:
        self.console.print(
            Panel(Text(text), title=Text(title, style="bold"), title_align="left", padding=(1, 2))
        )

    def chapter(self, title: str) -> None:
        self.console.print()
        self.console.print(Rule(Text(title, style="bold"), align="left", style="dim"))
        self.console.print()

    def tell(self, text: str) -> None:
        self.console.print(Text(text))

    def code(self, text: str) -> None:
        python = Syntax(text, "python", theme="ansi_dark", background_color="default")
        self.console.print()
        self.console.print(Padding(python, (0, 0, 0, 4)))
        self.console.print()

    def messages(self, messages: Sequence[BaseMessage]) -> None:
        styles = {"you": "bold cyan", "agent": "bold green"}
        for who, text in lines_of(messages):
            self._line(who, text, styles.get(who, "dim"), "dim" if who == "tool" else "")

    def question(self, text: str) -> None:
        self._line("asks", text, "bold yellow", "yellow")

    def answer(self, text: str) -> None:
        self._line("you", text, "bold cyan", "")

    def command(self, text: str, meaning: str) -> None:
        self.console.print(Text(f"  {text}", style="bold"), soft_wrap=True)
        self.console.print(Text(f"      {meaning}", style="dim"))

    def _line(self, who: str, text: str, who_style: str, style: str) -> None:
        self.console.print(
            Padding(Text.assemble((f"{who:>5}", who_style), "  ", (text, style)), (0, 0, 0, 2))
        )


@dataclass(frozen=True)
class PlainStage:
    """The same story in lines of plain text."""

    out: TextIO

    def opening(self, title: str, text: str) -> None:
        self._lines(title, "", text)

    def chapter(self, title: str) -> None:
        self._lines("", f"== {title}", "")

    def tell(self, text: str) -> None:
        self._lines(text)

    def code(self, text: str) -> None:
        self._lines(*(f"    {line}" for line in text.splitlines()))

    def messages(self, messages: Sequence[BaseMessage]) -> None:
        self._lines(*(f"  {who}: {text}" for who, text in lines_of(messages)))

    def question(self, text: str) -> None:
        self._lines(f"  asks: {text}")

    def answer(self, text: str) -> None:
        self._lines(f"  you: {text}")

    def command(self, text: str, meaning: str) -> None:
        self._lines(f"  {text}", f"      {meaning}")

    def _lines(self, *lines: str) -> None:
        for line in lines:
            print(line, file=self.out)


class EmptyStage:
    """Nobody watches; only the outcome counts."""

    def opening(self, title: str, text: str) -> None:
        pass

    def chapter(self, title: str) -> None:
        pass

    def tell(self, text: str) -> None:
        pass

    def code(self, text: str) -> None:
        pass

    def messages(self, messages: Sequence[BaseMessage]) -> None:
        pass

    def question(self, text: str) -> None:
        pass

    def answer(self, text: str) -> None:
        pass

    def command(self, text: str, meaning: str) -> None:
        pass


def lines_of(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Messages as a dialogue of `(who, text)`: ``you``, ``agent``, ``calls`` and ``tool``."""
    lines = []
    for message in messages:
        match message:
            case HumanMessage():
                lines.append(("you", message_line(message)))
            case AIMessage(tool_calls=calls) if calls:
                lines += [("calls", one_line(call_text(c["name"], c["args"]))) for c in calls]
            case ToolMessage():
                lines.append(("tool", one_line(message.text)))
            case _:
                lines.append(("agent", message_line(message)))
    return lines
