"""CheXpert's four sample reports, and whether mpir says of each finding what CheXpert's own labels say."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from mpir.annotate.chexpert import NO_FINDING, read_chexpert
from mpir.annotate.negation import NegEx, Status
from mpir.perspectives.negation import NegationPerspective

LABELS: Mapping[str, Status | None] = {"1.0": "affirmed", "0.0": "negated", "-1.0": "possible", "": None}
STRENGTH: tuple[Status, ...] = ("affirmed", "possible", "negated")
"""What counts of a finding with several mentions: CheXpert's own order."""


def run(folder: Path) -> int:
    """Print how many labels agree; those of normality ("No Finding") are not of a finding."""
    perspective = NegationPerspective(
        read_chexpert(folder / "phrases"), negation=NegEx.load("negation", "hedges", "radiology")
    )
    with open(folder / "labeled_reports.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    agree = [
        said(perspective, row["Reports"], name.lower()) == LABELS[label]
        for row in rows
        for name, label in row.items()
        if name not in ("Reports", NO_FINDING.replace("_", " ").title())
    ]
    print(f"CheXpert's {len(rows)} labelled reports: {sum(agree)} of {len(agree)} labels agree")
    return 0


def said(perspective: NegationPerspective, report: str, finding: str) -> Status | None:
    """What a report says of a finding, None where it does not mention it."""
    found = {mention.status for mention in perspective.mentions(report) if mention.concept == finding}
    return next((status for status in STRENGTH if status in found), None)
