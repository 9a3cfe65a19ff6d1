"""Pages are written in plain English: the glossary's words, and sentences that can be read in one go."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
INSTEAD = {
    r"what is free|best that is free|free baselines?": "untrained baseline",
    r"\bgolden (?!file)": "gold, or relevant",
    r"yardsticks?": "evaluation, benchmark or metric",
    r"start encoder|untouched|encoder as it is": "pretrained encoder",
    r"one voice|second voice": "duplicates count once",
    r"how far down": "retrieval depth, or top k",
    r"first-stage search brings up|what a search brings": "candidates, or first-stage results",
    r"on paper": "extrapolated",
    r"by hand of": "manually",
    r"are borne out": "agree",
    r"a demonstration and no evidence": "a demo, not a benchmark",
    r"which stands? at the place": "existing",
    r"in hand\b": "in progress",
    r"goes on where it (?:stopped|was)": "continues",
    r"speaks? of\b": "name, or mention",
}
"""What the glossary replaces, and by what."""
LONGEST = 45
"""Words of a sentence: more cannot be read in one go."""
WORD_LIMITS = {
    "README.md": 950,
    "docs/guides": 920,
    "docs/evidence": 700,
    "docs/evidence/negative-results.md": 3500,
    "docs/evidence/papers.md": 1000,
    "docs/evidence/stopping.md": 840,  # two tables of ten reviews and more
    "docs/reference": 1000,
    "docs/reference/api.md": 6000,
    "docs/reference/cli.md": 16000,
}
"""Words of a page, code and tables included; the longest path counts."""


def prose(page: Path) -> str:
    """A page without blocks of code, tables, headings and comments, and with code in the text as one word."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^(?:\||#| {4}).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", text))


def sentences(page: Path) -> list[str]:
    paragraphs = re.split(r"\n\s*\n|\n(?=[-*\d])", prose(page))
    return [sentence for text in paragraphs for sentence in re.split(r"(?<=[.!?:;])\s+", " ".join(text.split()))]


def ids(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_a_page_uses_the_glossarys_words(page: Path) -> None:
    text = " ".join(prose(page).split())
    wrong = {match: instead for word, instead in INSTEAD.items() for match in re.findall(word, text, re.IGNORECASE)}
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_sentences_can_be_read_in_one_go(page: Path) -> None:
    assert [sentence for sentence in sentences(page) if len(sentence.split()) > LONGEST] == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_pages_are_short(page: Path) -> None:
    limits = {path: number for path, number in WORD_LIMITS.items() if ids(page).startswith(path)}
    words = [word for word in page.read_text(encoding="utf-8").split() if re.search(r"\w", word)]
    limit = limits[max(limits, key=len)] if limits else 1600
    assert len(words) <= limit


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md"], ids=ids)
def test_lines_can_be_compared(page: Path) -> None:
    """Lines of prose end before 134 characters, so that a change shows where it is; tables and code are as they are."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    assert page.name in ("api.md", "cli.md") or [line for line in lines if len(line) > 134] == []
