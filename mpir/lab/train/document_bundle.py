"""Export a model that reads whole documents as a bundle, with calibrated probabilities and the beginning of a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from mpir.files.files import check_file_list
from mpir.files.folder_format import FILE_LIST
from mpir.lab.train.bundle import calibrate
from mpir.lab.train.document_trainer import DocumentTuner, dev_figures
from mpir.lab.train.export import export_bundle


def make_document_bundle(best: Path, tuner: DocumentTuner, folder: Path, stored: str = "fp16") -> list[str]:
    """Write the bundle of a run's checkpoint, and return a line about the calibration of each probability.

    Raises:
        ArtefactError: a file of the checkpoint has changed since training.
        OutputError: the folder cannot be written, or contains something other than a bundle.
    """
    check_file_list(best, f"remove {best.parent} and train again, or remove {best / FILE_LIST} if the change is meant")
    tuner.load(best)
    calibration, lines, judged = {}, [], tuner.dev_outputs()
    for entry in tuner.mixture.entries:
        rows, logits = judged.get(entry["name"], ([], None))
        if entry["scale"] == "probability" and logits is not None and len({row.label > 0 for row in rows}) == 2:
            calibration[entry["output"]], line = calibrate(logits, rows)
            lines.append(f"{entry['name']}: {line}")
    card = _card(folder.name, tuner, dev_figures(judged), lines)
    export_bundle(
        best, folder, tuner.mixture.entries, name=folder.name, card=card, calibration=calibration, stored=stored
    )
    return lines


def _card(name: str, tuner: DocumentTuner, measured: Mapping[str, float], lines: list[str]) -> str:
    """Return the beginning of a model card: questions, figures on dev, and settings."""
    figures = [f"- {column}: MAP on dev {figure:.4f}" for column, figure in measured.items()]
    values = {key: value for key, value in asdict(tuner.settings).items() if value is not None}
    settings = [f"- {key}: {value}" for key, value in values.items() if key != "checkpoint"]
    seen = f"{tuner.counters.step} steps over {len(tuner.mixture.train)} questions with their documents."
    remarks = "\n".join([*figures, *(f"- {line}" for line in lines)])
    return f"# {name}\n\n## Training\n\n{seen}\n\n{remarks}\n\nSettings:\n\n" + "\n".join(settings) + "\n"
