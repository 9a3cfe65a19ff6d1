"""Add a sentence encoder as it is to a bundle: its vectors are perspectives of their own, beside what was trained.

    python experiments/add_encoder.py runs/mine/bundle --encoder ENCODER --sentences vectors --output runs/two/bundle

Training a joint reading costs an encoder some of what it knew. The cosine of question and sentence (--sentences NAME),
and of question and document, of which the nearest passage counts (--documents NAME), keep it. The weights are equal
until they are tuned (docs/tuning.md).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from mpir.cli import guarded
from mpir.errors import InputError
from mpir.io.read import read_json
from mpir.io.write import atomic_folder, write_json

FOLDER = "encoder"
"""The encoder's folder in the bundle."""


def main() -> int:
    """Read arguments, add, say where the result is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="the bundle to start from: a folder, or a shipped one's name")
    parser.add_argument("--encoder", required=True, help="a sentence encoder that is read by the mean of its states")
    parser.add_argument("--sentences", metavar="NAME", help="a perspective of sentences by this name")
    parser.add_argument("--documents", metavar="NAME", help="a perspective of documents by this name")
    parser.add_argument("--output", type=Path, required=True, help="folder of the new bundle")
    arguments = parser.parse_args()
    return guarded("add_encoder", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Copy, add, seal."""
    from mpir.perspectives.bundle import MANIFEST, open_bundle, seal

    bundle, added = open_bundle(arguments.bundle), entries(arguments)
    known = {item["name"] for item in bundle.manifest["perspectives"]}
    if taken := known & {item["name"] for item in added}:
        raise InputError(f"{bundle.folder}: has a perspective {min(taken)!r} already; choose another name.")
    with atomic_folder(arguments.output, marker=MANIFEST) as temporary:
        shutil.copytree(bundle.folder, temporary, dirs_exist_ok=True)
        save(arguments.encoder, temporary / FOLDER)
        manifest = read_json(temporary / MANIFEST)
        manifest["perspectives"] += added
        manifest.pop("weights", None)
        (temporary / "weights.json").unlink(missing_ok=True)
        write_json(temporary / MANIFEST, manifest)
        seal(temporary)
    print(f"{arguments.output}: {', '.join(item['name'] for item in manifest['perspectives'])}")
    return 0


def entries(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The manifest's entries of the perspectives that are asked for. Raises InputError where there is none."""
    shared = {"kind": "bi-encoder", "checkpoint": FOLDER, "scale": "cosine"}
    found: list[dict[str, Any]] = []
    if arguments.sentences:
        found.append({"name": arguments.sentences, **shared})
    if arguments.documents:
        found.append({"name": arguments.documents, **shared, "level": "document"})
    if not found:
        raise InputError("no perspective is asked for; name one with --sentences, --documents or both.")
    return found


def save(checkpoint: str, folder: Path) -> None:
    """Write an encoder's weights in 16 bits, and its tokenizer."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(checkpoint, dtype=torch.float32).half().save_pretrained(folder)
    AutoTokenizer.from_pretrained(checkpoint).save_pretrained(folder)


if __name__ == "__main__":
    sys.exit(main())
