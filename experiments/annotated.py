"""Pairs of which people said whether the sentence holds what is asked for: SciTail, TREC-QA, HealthVer. To measure on.

Their labels have two values, here 4 and 0 of SIA's scale. A group is all that was judged for one question or claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from generalisation import read_csv

from mpir.errors import InputError
from mpir.files import read_json_lines
from mpir.train.mixture import Row

ALL, NOTHING = 4.0, 0.0


def read_annotated(data: Path, split: str) -> dict[str, list[Row]]:
    """The rows of every set's split ("dev" or "test"), by the set's name.

    Raises:
        InputError: a file is missing, or has a label that is none.
    """
    return {name: list(read(data, split)) for name, read in READERS.items()}


def read_scitail(data: Path, split: str) -> Iterator[Row]:
    """SciTail (Khot et al. 2018): a claim made of a science question and its answer; a sentence of the web entails it.

    E is entailed, N neutral.
    """
    path = data / f"scitail/{split}.jsonl"
    for number, item in read_json_lines(path):
        claim, sentence = item["sentence2"], item["sentence1"]
        yield labelled(claim, sentence, {"E": ALL, "N": NOTHING}, item["gold_label"], f"{path}:{number}")


def read_trecqa(data: Path, split: str) -> Iterator[Row]:
    """TREC-QA (Wang et al. 2007): a factoid question; a newspaper's sentence answers it, 1, or does not, 0."""
    path = data / f"trecqa_wang/{split}.csv"
    for number, item in enumerate(read_csv(path, "qtext", "label", "atext"), 1):
        grades = {"1": ALL, "0": NOTHING}
        yield labelled(item["qtext"], item["atext"], grades, item["label"], f"{path}: row {number}")


def read_healthver(data: Path, split: str) -> Iterator[Row]:
    """HealthVer (Sarrouti et al. 2021): a claim about health; a passage of an abstract settles it, or does not."""
    path = data / f"healthver/healthver_{split}.csv"
    for number, item in enumerate(read_csv(path, "claim", "evidence", "label"), 1):
        grades = {"Supports": ALL, "Refutes": ALL, "Neutral": NOTHING}
        yield labelled(item["claim"], item["evidence"], grades, item["label"], f"{path}: row {number}")


def labelled(asked: str, sentence: str, grades: dict[str, float], label: str, place: str) -> Row:
    """A row with the grade of its label. Raises InputError for a label that has none."""
    if label not in grades:
        raise InputError(f"{place}: the label is {label!r}; expected one of {', '.join(grades)}.")
    return Row(asked, asked, " ".join(sentence.split()), grades[label])


READERS: dict[str, Callable[[Path, str], Iterator[Row]]] = {
    "SciTail": read_scitail,
    "TREC-QA": read_trecqa,
    "HealthVer": read_healthver,
}
