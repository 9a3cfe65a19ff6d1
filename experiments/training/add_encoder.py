"""Add another encoder to a bundle, with new perspectives in addition to the existing ones.

    python -m experiments.training.add_encoder runs/mine/bundle --encoder ENCODER --sentences vectors \\
        --output runs/two/bundle
    python -m experiments.training.add_encoder default --encoder LARGER --documents dense --replace --share dense \\
        --output runs/1
    python -m experiments.training.add_encoder runs/1 --encoder LARGE/best --together larger --share relevance \\
        --output runs/2

Training an encoder to read pairs costs some of its general knowledge. The cosine of question and sentence (--sentences
NAME), or of question and nearest passage of a document (--documents NAME), retains it. An encoder that was trained to
read question and sentence together gives their probability as its first output (--together NAME). With --replace, an
existing perspective of that name is removed, with any model that is no longer used. Everything fitted to the bundle's
scores is left out, and so is its card: the weights are equal until they are tuned (docs/guides/tuning.md). --share NAME
keeps the bundle's weights instead, as if chosen by hand: the new perspective gets half of NAME's weight, or all of it
if it replaces NAME.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.weights import Weights
from mpir.errors import ArtefactError, InputError
from mpir.files.output_checks import Output, check_outputs
from mpir.files.read import read_json
from mpir.files.weights import read_weights, write_weights
from mpir.files.write import atomic_folder, write_json
from mpir.lab.train.mixture_schema import check_names
from mpir.models.bundles.bundle import BUNDLE, MANIFEST

FOLDER = "encoder"
"""The encoder's folder in the bundle, with a number behind it where another model is there."""
WEIGHTS = "weights.json"
ROLES: dict[str, dict[str, Any]] = {
    "sentences": {"kind": "bi-encoder", "scale": "cosine"},
    "documents": {"kind": "bi-encoder", "scale": "cosine", "level": "document"},
    "together": {"kind": "cross-encoder", "scale": "probability", "output": 0},
}
"""Manifest entries for the ways of reading an encoder."""
FITTED = ("weights", "relevance", "card")
"""Manifest keys of files that were fitted to the original bundle."""


def main() -> int:
    """Read arguments, add, say where the result is."""
    parser = script_parser(__doc__)
    parser.add_argument("bundle", type=text_path, help="the bundle to start from: a folder, or a shipped one's name")
    parser.add_argument(
        "--encoder", type=text_path, required=True, help="a sentence encoder, or of --together a trained checkpoint"
    )
    parser.add_argument("--sentences", metavar="NAME", help="a perspective of sentences by this name")
    parser.add_argument("--documents", metavar="NAME", help="a perspective of documents by this name")
    parser.add_argument("--together", metavar="NAME", help="a perspective of pairs read in one, by this name")
    parser.add_argument("--share", metavar="NAME", help="keep the weights; the new perspective shares that of NAME")
    parser.add_argument("--replace", action="store_true", help="in the place of the perspectives of these names")
    parser.add_argument("--output", type=file_path, required=True, help="folder of the new bundle")
    arguments = parser.parse_args()
    return guarded("add_encoder", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Copy, add, seal."""
    from mpir.models.bundles.bundle import open_bundle, seal

    bundle = open_bundle(arguments.bundle)
    check_outputs([Output("--output", arguments.output, BUNDLE)], [("BUNDLE", bundle.folder)])
    before: list[dict[str, Any]] = bundle.manifest["perspectives"]
    names = {role: getattr(arguments, role) for role in ROLES}
    replaced = {item["name"] for item in before} & set(names.values())
    if replaced and not arguments.replace:
        raise InputError(
            f"{bundle.folder}: has a perspective {min(replaced)!r} already; choose another name, or --replace it."
        )
    kept = [item for item in before if item["name"] not in replaced]
    of_search = [bundle.manifest["encoder"]] if bundle.manifest.get("encoder") else []
    declared, copied = own_models([*kept, *of_search])
    remaining, of_search = declared[: len(kept)], declared[len(kept) :]
    folder = free_folder(models(declared))
    added = entries(names, folder)
    check_names([item["name"] for item in remaining + added], str(arguments.output))
    weights = (
        share(bundle.folder, bundle.manifest.get("weights"), arguments.share, added, remaining)
        if arguments.share
        else None
    )
    with atomic_folder(arguments.output, BUNDLE) as temporary:
        shutil.copytree(bundle.folder, temporary, dirs_exist_ok=True)
        manifest = without_fitted(temporary)
        for left in filter(is_inside, models(before) - models(declared)):
            shutil.rmtree(temporary / left, ignore_errors=True)
        for source, name in copied.items():
            shutil.copytree(bundle.folder / source, temporary / name, dirs_exist_ok=True)
        save(arguments.encoder, temporary / folder, outputs=arguments.together is not None)
        manifest |= {"name": arguments.output.name, "perspectives": remaining + added}
        manifest |= zip(["encoder"], of_search, strict=False)
        if weights:
            write_weights(temporary / WEIGHTS, weights)
            manifest["weights"] = WEIGHTS
        write_json(temporary / MANIFEST, manifest)
        seal(temporary, built=True)
    print(f"{arguments.output}: {', '.join(item['name'] for item in manifest['perspectives'])}")
    return 0


def without_fitted(folder: Path) -> dict[str, Any]:
    """Return the manifest of a copied bundle without files fitted to the original, and delete these files."""
    manifest: dict[str, Any] = read_json(folder / MANIFEST)
    for file in filter(None, (manifest.pop(name, None) for name in FITTED)):
        (folder / file).unlink(missing_ok=True)
    return manifest


def own_models(items: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], dict[str, str]]:
    """The entries with folders for what they read of another bundle, and which folder each of these is copied to."""
    used, copied = models(items), dict[str, str]()
    for source in sorted(used):
        if not is_inside(source):
            copied[source] = free_folder(used | set(copied.values()))
    return [
        {**item, "checkpoint": copied[item["checkpoint"]]} if item.get("checkpoint") in copied else item
        for item in items
    ], copied


def is_inside(checkpoint: str) -> bool:
    """Whether a checkpoint is the bundle's own, or a hub's, and not in a folder beside it or elsewhere."""
    return not Path(checkpoint).is_absolute() and ".." not in Path(checkpoint).parts


def models(perspectives: Sequence[Mapping[str, Any]]) -> set[str]:
    """The folders or hub names of the models that perspectives read."""
    return {item["checkpoint"] for item in perspectives if "checkpoint" in item}


def free_folder(used: set[str]) -> str:
    """A folder for the encoder in which no other perspective's model is."""
    return next(name for name in chain([FOLDER], (f"{FOLDER}-{i}" for i in count(2))) if name not in used)


def entries(names: Mapping[str, str | None], folder: str) -> list[dict[str, Any]]:
    """Return the manifest's entries of the requested perspectives. Raises InputError if there are none."""
    entries_of_roles = [{"name": name, "checkpoint": folder, **ROLES[role]} for role, name in names.items() if name]
    if not entries_of_roles:
        raise InputError("no perspective is asked for; name one with --sentences, --documents or --together.")
    return entries_of_roles


def share(
    folder: Path,
    file: str | None,
    name: str,
    added: Sequence[Mapping[str, Any]],
    remaining: Sequence[Mapping[str, Any]],
) -> Weights:
    """The bundle's weights, of which the new perspective of the same level shares NAME's.

    Raises:
        InputError: the bundle has no weights, or none of that name, or not one new perspective is of its level.
    """
    if file is None:
        raise InputError(f"{folder}: has no weights to share; leave --share out.")
    weights = read_weights(folder / file)
    columns = {"sentence": dict(weights.alpha), "document": dict(weights.beta)}
    level = next((level_name for level_name, of in columns.items() if name in of), None)
    new = [item["name"] for item in added if item.get("level", "sentence") == level]
    if level is None or len(new) != 1:
        raise InputError(f"--share {name}: it takes one new perspective, and a weight of that name for its level.")
    sharing = {*new, *(item["name"] for item in remaining if item["name"] == name)}
    columns[level] |= dict.fromkeys(sharing, columns[level][name] / len(sharing))
    return replace(weights, alpha=columns["sentence"], beta=columns["document"], made_by={})


def save(checkpoint: str, folder: Path, *, outputs: bool) -> None:
    """Write an encoder's weights in 16 bits, with its outputs or bare, and its tokenizer.

    Raises:
        ArtefactError: it cannot be loaded, or has no outputs.
    """
    from transformers import AutoModel, AutoTokenizer

    from mpir.lab.train.pretrained import count_outputs, load_model
    from mpir.models.loading.pretrained import load_pretrained

    if outputs and not count_outputs(checkpoint):
        raise ArtefactError(f"{checkpoint}: has no outputs, and reads no pair; give a checkpoint of `mpir train`.")
    load_model(checkpoint, None if outputs else AutoModel).half().save_pretrained(folder)
    load_pretrained(AutoTokenizer, checkpoint).save_pretrained(folder)


if __name__ == "__main__":
    sys.exit(main())
