"""Every Python example of the README and the documentation runs, and prints what it says.

A page's blocks run in order in one namespace, in a directory of their own. Where a block has
lines that begin with ``# -> ``, those are exactly what it prints.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The page's examples, each with the line that it begins on."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start(1)) + 1, m[1]) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run_and_print_what_they_say(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": page.stem}
    for line, source in blocks(page):
        # Blank lines put the block where it stands on the page, so that a traceback points there.
        code = compile("\n" * (line - 1) + source, str(page), "exec")
        exec(code, namespace)
        promised = [text[5:] for text in source.splitlines() if text.startswith("# -> ")]
        if promised:
            assert capsys.readouterr().out.splitlines() == promised, f"{page}:{line}"
        capsys.readouterr()


def test_every_page_of_the_navigation_exists_and_every_page_is_in_it() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("nav:")[1]
    listed = set(re.findall(r"([\w/-]+\.md)", navigation))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
