"""How BioASQ counts offsets: is the end exclusive, what joins the parts of a structured abstract, what is sections.0?

Prints the tables of docs/corpora.md. What decides how mpir reads files (joining, section names) is counted on train
and dev questions only; the length of every golden snippet is counted in every batch.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from tabulate import tabulate

from mpir.cli import guarded
from mpir.corpora.bioasq import read_questions
from mpir.corpora.jsonl import read_jsonl
from mpir.io.read import read_json
from mpir.text.types import ABSTRACT, Document, Question, Snippet

_WORDS = "AIM|BACKGROUND|CONCLUSION|CONTEXT|DESIGN|FINDING|INTERPRETATION|INTRODUCTION|METHOD|OBJECTIVE|PURPOSE|RESULT"
_HEADING = re.compile(rf"(?:[A-Z][A-Z /&,-]*)?(?:{_WORDS})S?[A-Z /&,-]*: ")
_INSIDE = re.compile(rf"(?<=[.!?)\]%])(\s*){_HEADING.pattern}")


def known(question: Question) -> list[Snippet]:
    """The snippets of a question that have offsets."""
    return [s for s in question.snippets or () if s.begin is not None and s.end is not None]


def lengths(batches: dict[str, list[Question]]) -> list[dict[str, object]]:
    """For each batch, how many golden snippets have end − begin equal to their text's length, or off by one."""
    rows: list[dict[str, object]] = []
    total: Counter[str] = Counter()
    for name, questions in batches.items():
        gaps = [s.end - s.begin - len(s.text) for q in questions for s in known(q)]  # type: ignore[operator]
        names = {0: "len(text)", 1: "len(text) + 1", -1: "len(text) - 1"}
        count = Counter(names.get(gap, "other") for gap in gaps)
        total += count
        rows.append({"batch": name, "snippets": len(gaps), **{k: count[k] for k in (*names.values(), "other")}})
    rows.append({"batch": "all", "snippets": total.total(), **{k: total[k] for k in list(rows[0])[2:]}})
    return rows


def spanning(questions: Iterable[Question]) -> Counter[str]:
    """What stands between the parts of an abstract in snippets that run over a heading."""
    snippets = {(s.document, s.begin, s.text): s for q in questions for s in known(q)}
    return Counter(
        repr(match.group(1)) + (" end - begin fits" if s.end - s.begin == len(s.text) else " end - begin does not fit")  # type: ignore[operator]
        for s in snippets.values()
        for match in _INSIDE.finditer(s.text)
    )


def offsets(questions: Iterable[Question], documents: dict[str, Document]) -> dict[str, Counter[str]]:
    """Which joining gives each snippet's begin, for snippets inside one part of a known structured abstract."""
    result: dict[str, Counter[str]] = defaultdict(Counter)
    seen = set()
    for snippet in (s for q in questions for s in known(q)):
        text = documents[snippet.document].abstract if snippet.document in documents else ""
        key = (snippet.document, snippet.begin, snippet.text)
        if key in seen or snippet.begin_section != ABSTRACT or text.count(snippet.text) != 1:
            continue
        seen.add(key)
        where = text.index(snippet.text)
        first, inside = _HEADING.match(text), [m for m in _INSIDE.finditer(text) if m.start() <= where]
        if first or inside:
            headings = ([first.end()] if first else []) + [m.end() - m.start() - len(m.group(1)) for m in inside]
            readings = {
                "LABEL: text, joined by a space": where,
                "LABEL: text, joined by nothing": where - len(inside),
                "no labels, joined by a space": where - sum(headings),
                "no labels, joined by nothing": where - sum(headings) - len(inside),
            }
            fits = [name for name, begin in readings.items() if begin == snippet.begin]
            group = "first part" if not inside else "later part"
            result[group][" = ".join(fits) or "none of these"] += 1
    return result


def sections(path: Path, documents: dict[str, Document], wanted: set[str]) -> Counter[str]:
    """Where the text of snippets in ``sections.0`` is found, in the questions wanted."""
    count: Counter[str] = Counter()
    for question in read_json(path)["questions"]:
        for snippet in question["snippets"] if question["id"] in wanted else ():
            document = documents.get(snippet["document"].rsplit("/", 1)[1])
            if snippet["beginSection"] == "sections.0" and document is not None:
                found = [name for name, text in document.sections.items() if snippet["text"] in text]
                begin = snippet.get("offsetInBeginSection")
                fits = begin is not None and document.abstract[begin:].startswith(snippet["text"])
                count[(found[0] if found else "neither") + (", at its offset" if fits else "")] += 1
    return count


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with bioasq/ and pubmed/")
    arguments = parser.parse_args()
    return guarded("joining", lambda: run(arguments.data))


def run(data: Path) -> int:
    """Print the tables."""
    splits = read_json(data / "bioasq/splits.json")
    wanted = {*splits["train"], *splits["dev"]}
    files = sorted((data / "bioasq").glob("*_golden.json"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])
    batches = {path.name.removesuffix("_golden.json"): read_questions(path) for path in files}
    training = read_questions(data / "bioasq/training.json")
    chosen = [q for questions in (*batches.values(), training) for q in questions if q.id in wanted]
    documents = {document.id: document for document in read_jsonl(data / "pubmed/abstracts.jsonl")}
    print(tabulate(lengths(batches), headers="keys", tablefmt="github"))
    print("\nsnippets that run over a heading:", dict(spanning(chosen).most_common()))
    for group, count in offsets(chosen, documents).items():
        print(f"\nsnippets in the {group} of a structured abstract: {count.total()}")
        print(tabulate(count.most_common(), tablefmt="github"))
    print("\nsections.0:", dict(sections(data / "bioasq/training.json", documents, wanted)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
