"""What a rerank runs through once everything is loaded: few enough files that a reader can follow it."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import mpir

ROOT = Path(mpir.__file__).parent
FILES, FUNCTIONS, DEPTH, CONVERSIONS = 37, 177, 20, 6
FIRST = ["Aspirin was avoided in pregnancy. It was harmful.", "Women take aspirin (p < 0.05).", "Metformin helps."]
SECOND = [
    "In 1987, it was avoided.",
    "We give α-aspirin; it prevents <i>pre-eclampsia</i>.",
    "Statins help. They do.",
]


class Road:
    """The files and functions of mpir that a call runs through, how deep, and how often objects are made."""

    def __init__(self) -> None:
        self.files, self.calls, self.made = set[str](), Counter[tuple[str, str]](), Counter[str]()
        self.depth = self.deepest = 0

    def record(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name == "__init__":
            self.made[type(frame.f_locals["self"]).__name__] += 1
        if not Path(code.co_filename).is_relative_to(ROOT):
            return
        self.depth += {"call": 1, "return": -1}.get(event, 0)
        self.deepest = max(self.deepest, self.depth)
        if event == "call":
            file = str(Path(code.co_filename).relative_to(ROOT))
            self.files.add(file)
            if "<" not in code.co_name:  # an expression is no function
                self.calls[file, code.co_qualname] += 1


def test_a_warm_rerank_runs_through_few_files_and_converts_documents_rarely() -> None:
    mpir.rerank("aspirin in pregnancy", FIRST)
    road = Road()
    sys.setprofile(road.record)
    try:
        ranking = mpir.rerank("Is aspirin harmful?", SECOND)
    finally:
        sys.setprofile(None)
    assert len(ranking) == len(SECOND)
    assert "reranking/reranker.py" in road.files and len(road.files) <= FILES, "\n".join(sorted(road.files))
    assert len(road.calls) <= FUNCTIONS, "\n".join(map(str, sorted(road.calls)))
    assert road.deepest <= DEPTH
    made = road.made["Document"] + road.made["RankedDocument"]
    assert road.made["RankedDocument"] == len(SECOND) and made <= CONVERSIONS * len(SECOND)
    indexes = [name for _, name in road.calls if name == "MemoryIndex.__init__"]
    assert indexes == []  # words are counted once, by one function
    assert road.calls["search/memory.py", "background_scores"] == 1
    assert road.calls["models/tokens/tokenise.py", "PairTokenizer.texts"] == 1
