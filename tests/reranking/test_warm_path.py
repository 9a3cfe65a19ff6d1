"""What a rerank runs through once everything is loaded: few enough files that a reader can follow it."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import mpir
from mpir import Reranker

ROOT = Path(mpir.__file__).parent
FILES, CONVERSIONS = 38, 6


def test_a_warm_rerank_runs_through_few_files_and_converts_documents_rarely() -> None:
    first = ["Aspirin was avoided in pregnancy. It was harmful.", "Women take aspirin (p < 0.05).", "Metformin helps."]
    second = [
        "In 1987, it was avoided.",
        "We give α-aspirin; it prevents <i>pre-eclampsia</i>.",
        "Statins help. They do.",
    ]
    reranker = Reranker()
    reranker.rerank("aspirin in pregnancy", first)
    files, conversions = set[Path](), Counter[str]()

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(Path(frame.f_code.co_filename))
            if frame.f_code.co_name == "__init__":
                conversions[type(frame.f_locals["self"]).__name__] += 1

    sys.setprofile(record)
    try:
        ranking = reranker.rerank("Is aspirin harmful?", second)
    finally:
        sys.setprofile(None)
    assert len(ranking) == len(second)
    own = sorted(str(path.relative_to(ROOT)) for path in files if path.is_relative_to(ROOT))
    assert "reranking/reranker.py" in own and len(own) <= FILES, "\n".join(own)
    made = conversions["Document"] + conversions["RankedDocument"]
    assert conversions["RankedDocument"] == len(second) and made <= CONVERSIONS * len(second)
