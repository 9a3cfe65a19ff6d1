"""A bundle: a folder with trained perspectives, the weights that blend them, and a model card.

`bundle.json` declares it:

    {"format": 1, "name": "default", "mpir": "0.1.0", "weights": "weights.json", "card": "CARD.md",
     "perspectives": [{"name": "relevance", "kind": "cross-encoder", "checkpoint": "model", "output": 0,
                       "scale": "probability"}, …],
     "agreement": "relevance",
     "files": {"model/model.safetensors": "<SHA-256>", …}}

`checkpoint` may be a hub name instead of a folder in the bundle, and a lone JSON file of this form is a bundle, too.
A perspective with `"level": "document"` reads documents as a whole; all others read every sentence. `agreement` names
the perspective that agreement between documents rests on (perspectives/agreement.py); without it there is no such
column. `relevance` names a file with the maps from scores to probabilities (rank/relevance.py); without it they are
plain logistic curves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from mpir.errors import ArtefactError, MpirError
from mpir.io.hash import sha256
from mpir.io.read import read_json
from mpir.io.write import write_json
from mpir.perspectives.base import Level, Loading, Perspective, build
from mpir.version import __version__

MANIFEST = "bundle.json"
FORMAT = 1
FORM = {
    "perspectives": (list, "a list of objects"),
    "files": (dict, "an object of SHA-256 hashes by file name"),
    "weights": (str, "the name of a file"),
    "card": (str, "the name of a file"),
    "agreement": (str, "the name of a perspective"),
    "relevance": (str, "the name of a file"),
}
SHIPPED = Path(__file__).parents[1] / "bundles"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A checked bundle. `weights` and `relevance` are the parsed files, {} where there are none.

    The perspectives are loaded only when asked for.
    """

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    weights: Mapping[str, Any]
    card: str
    relevance: Mapping[str, Any]

    @property
    def agreement(self) -> str | None:
        """The perspective that agreement between documents rests on, or None for no such column."""
        name: str | None = self.manifest.get("agreement")
        return name

    def perspectives(
        self, *, device: str = "auto", precision: str = "auto", tokens_per_batch: int | None = None
    ) -> tuple[Perspective, ...]:
        """Load the perspectives, in the order of the manifest; those that share a checkpoint share its encoder."""
        import mpir.perspectives.bi_encoder
        import mpir.perspectives.cross_encoder  # noqa: F401  (both register their kind)

        loading = Loading(self.folder, device, precision, tokens_per_batch)
        return tuple(self._perspective(item, loading) for item in self.manifest["perspectives"])

    def _perspective(self, item: Mapping[str, Any], loading: Loading) -> Perspective:
        options = {key: value for key, value in item.items() if key not in ("name", "kind", "level")}
        try:
            perspective = build(item["kind"], item["name"], options, loading)
        except (KeyError, TypeError) as error:
            message = (
                f"{self.folder}: the perspective {item.get('name')!r} is declared wrongly ({error}); see its kind."
            )
            raise ArtefactError(message) from error
        perspective.level = item.get("level", perspective.level)
        return perspective


def open_bundle(which: str | Path = "default") -> Bundle:
    """Open a bundle: the name of a shipped one, a folder, or a JSON file; every listed file is checked by its hash.

    Raises:
        ArtefactError: no such bundle, a manifest of another format or form, or files that don't match it.
    """
    manifest_path = _locate(which)
    manifest = read_json(manifest_path)
    folder = manifest_path.parent
    if manifest.get("format") != FORMAT or not manifest.get("perspectives"):
        raise ArtefactError(
            f"{manifest_path}: expected format {FORMAT} and a list of perspectives, found format "
            f"{manifest.get('format')!r}; use a bundle made for mpir {__version__}."
        )
    _check_form(manifest, manifest_path)
    for name, expected in (manifest.get("files") or {}).items():
        _check_file(folder / name, expected, manifest_path)
    weights, card, relevance = (manifest.get(key) for key in ("weights", "card", "relevance"))
    return Bundle(
        str(manifest.get("name", folder.name)),
        folder,
        manifest,
        read_json(folder / weights) if weights else {},
        _read_card(folder / card) if card else "",
        read_json(folder / relevance) if relevance else {},
    )


def _check_form(manifest: Mapping[str, Any], path: Path) -> None:
    for key, (kind, form) in FORM.items():
        if not isinstance(manifest.get(key), kind | None):
            raise ArtefactError(f"{path}: {key} is {manifest[key]!r:.60}; expected {form}.")
    for item in manifest["perspectives"]:
        if not (isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("kind"), str)):
            raise ArtefactError(f"{path}: a perspective is {item!r:.60}; expected an object with a name and a kind.")
        if item.get("level", "sentence") not in get_args(Level):
            raise ArtefactError(
                f"{path}: the level of {item['name']!r} is {item['level']!r:.60}; expected sentence or document."
            )
    names = [item["name"] for item in manifest["perspectives"] if item.get("level") != "document"]
    if (agreement := manifest.get("agreement")) not in (None, *names):
        raise ArtefactError(f"{path}: agreement is {agreement!r}; expected one of the perspectives {', '.join(names)}.")


def _read_card(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{path}: the model card cannot be read ({error}); restore the bundle.") from error


def _locate(which: str | Path) -> Path:
    for candidate in (Path(which), SHIPPED / which):
        if candidate.is_file():
            return candidate
        if (candidate / MANIFEST).is_file():
            return candidate / MANIFEST
    shipped = ", ".join(sorted(path.parent.name for path in SHIPPED.glob(f"*/{MANIFEST}")))
    raise ArtefactError(f"bundle {str(which)!r} not found; give a folder with a {MANIFEST}, or one of: {shipped}.")


def _check_file(path: Path, expected: str, manifest: Path) -> None:
    if not path.is_file():
        raise ArtefactError(f"{path}: the file is missing, though {manifest} lists it; restore the bundle.")
    found = sha256(path)
    if found != expected:
        raise ArtefactError(
            f"{path}: the content has SHA-256 {found[:12]}…, but {manifest} expects {expected[:12]}…; "
            "restore the file, or run `mpir bundle seal` on the folder if the change is meant."
        )


def seal(folder: str | Path) -> None:
    """Write the hashes of all files of a bundle into its manifest, after a change that is meant.

    Raises:
        MpirError: the folder has no manifest or cannot be written.
    """
    root = Path(folder)
    manifest = read_json(root / MANIFEST)
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name != MANIFEST)
    manifest["files"] = {path.relative_to(root).as_posix(): sha256(path) for path in files}
    manifest["format"], manifest["mpir"] = FORMAT, __version__
    if not manifest["files"]:
        raise MpirError(f"{root}: the bundle has no files besides its manifest; put its checkpoints there first.")
    write_json(root / MANIFEST, manifest)
