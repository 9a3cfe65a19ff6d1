"""A bundle: a folder with trained perspectives, the weights that blend them, and a model card.

`bundle.json` declares it:

    {"format": 1, "name": "default", "mpir": "0.1.0", "weights": "weights.json", "card": "CARD.md",
     "perspectives": [{"name": "relevance", "kind": "cross-encoder", "checkpoint": "model", "output": 0,
                       "scale": "probability"}, …],
     "files": {"model/model.safetensors": "<SHA-256>", …},
     "checksum": "<of all the above>"}

`checkpoint` is a folder in the bundle, a hub name, or with "../" a folder of a neighbouring bundle. A single JSON file
of this form is also a bundle. A perspective with `"level": "document"` gives a document's score; all others give one to
every sentence. One with `"role": "ordering"` orders sentences without contributing to document scores. `encoder`
declares a bi-encoder in the same form, for the vectors of a search; it scores nothing. `relevance` names a file with
the weights and lines of probabilities (core/calibration.py); without it there are none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from mpir.core.checksum import CHECKSUM
from mpir.core.columns import Column, Level
from mpir.errors import ArtefactError, InputError, MpirError, OutputError, format_names, format_value
from mpir.files.checksum import file_state, read_json_with_checksum, sha256, write_json_with_checksum
from mpir.files.folder_format import FolderFormat
from mpir.files.paths import path_inside
from mpir.files.read import found_file, read_bytes, read_json
from mpir.models.bundles.bundle_fetch import fetch_bundle
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.registration import Loading, build
from mpir.version import __version__

MANIFEST, RELEVANCE = "bundle.json", "relevance.json"
BUILT = "built"
"""The manifest's key for the hashes of the files as they were built."""
FORMAT = 1
FORM = {
    "perspectives": (list, "a list of objects"),
    "files": (dict, "an object of SHA-256 hashes by file name"),
    "weights": (str, "the name of a file"),
    "card": (str, "the name of a file"),
    "encoder": (dict, "an object with a name and a kind"),
    "relevance": (str, "the name of a file"),
}
EDITED = f'restore the file, or remove its field "{CHECKSUM}" or run `mpir bundle seal` if it was edited on purpose'
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?")
SHIPPED = Path(__file__).parents[2] / "bundles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A checked bundle. `weights` and `relevance` are the parsed files, {} where there are none.

    The perspectives are loaded only when asked for.
    """

    name: str
    manifest_path: Path
    manifest: Mapping[str, Any]
    weights: Mapping[str, Any]
    card: str
    relevance: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return self.manifest_path.parent

    def perspectives(
        self,
        *,
        device: str = "auto",
        precision: str = "auto",
        tokens_per_batch: int | None = None,
        trust_code: bool = False,
        addresses: Collection[str] = (),
    ) -> tuple[Perspective, ...]:
        """Load the perspectives, in the order of the manifest; those that share a checkpoint share its encoder.

        `trust_code` lets the bundle run code that it names as ``module:attribute``, send queries and documents to
        addresses that it names, and fetch models from a hub. `addresses` are those that the user named: they are used
        without `trust_code`, and they alone get the user's keys.

        Raises:
            ArtefactError: an invalid declaration, or a checkpoint that cannot be loaded.
            InputError: an unknown kind or option; or code, an address or a hub's model that is not trusted.
        """
        loading = Loading(
            folder=self.folder,
            device=device,
            precision=precision,
            tokens_per_batch=tokens_per_batch,
            trust_code=trust_code,
            addresses=addresses,
        )
        return tuple(self._perspective(item, loading) for item in self.manifest["perspectives"])

    @property
    def entries(self) -> tuple[Mapping[str, Any], ...]:
        """The declarations of the perspectives, and of the encoder for search, if any."""
        encoder = self.manifest.get("encoder")
        return (*self.manifest["perspectives"], *([] if encoder is None else [encoder]))

    def bi_encoder(self) -> Perspective | None:
        """Load the encoder for search: the manifest's, else the first bi-encoder among the perspectives, if any.

        Raises:
            ArtefactError: an invalid declaration, or a checkpoint that cannot be loaded.
        """
        own = self.manifest.get("encoder")
        entry = own or next((item for item in self.entries if item["kind"] == "bi-encoder"), None)
        return None if entry is None else self._perspective(entry, Loading(folder=self.folder))

    def _perspective(self, item: Mapping[str, Any], loading: Loading) -> Perspective:
        if "url" in item and not loading.trust_code and str(item["url"]).rstrip("/") not in loading.addresses:
            raise InputError(
                f"{self.folder}: the perspective {format_value(item['name'])} would send queries and documents to "
                f"{format_value(item['url'])}; if you trust the bundle, name that address yourself (llm), "
                "which then gets your key, or allow it without a key (--trust-code, trust_code=True)."
            )
        try:
            return build(item, loading)
        except (KeyError, TypeError) as error:
            message = (
                f"{self.folder}: the perspective {format_value(item.get('name'))} is invalid ({error}); see its kind."
            )
            raise ArtefactError(message) from error


def open_bundle(which: str | Path = "default") -> Bundle:
    """Open a bundle: the name of a shipped one, the path of a folder or a JSON file, or a hub's ``org/name``.

    Text counts as a path if it has a slash (``./mine``) or ends in ``.json``. Each listed file is verified by its hash,
    and the manifest by its checksum, if it has one.

    Raises:
        ArtefactError: no such bundle, a manifest of another format or form, or files that don't match it.
    """
    manifest_path = _locate(which)
    manifest = read_manifest(manifest_path)
    folder = manifest_path.parent
    if manifest.get("format") != FORMAT or not manifest.get("perspectives"):
        raise ArtefactError(
            f"{manifest_path}: its format is {format_value(manifest.get('format'))}; expected {FORMAT} and a list of "
            f"perspectives, so use a bundle made for mpir {__version__}."
        )
    _check_form(manifest, manifest_path)
    for name, expected in (manifest.get("files") or {}).items():
        _check_file(path_inside(folder, name), expected, manifest_path)
    weights, card, relevance = (
        path_inside(folder, manifest[key]) if manifest.get(key) else None for key in ("weights", "card", "relevance")
    )
    return Bundle(
        name=str(manifest.get("name", folder.name)),
        manifest_path=manifest_path,
        manifest=manifest,
        weights=read_json_with_checksum(weights) if weights else {},
        card=_read_card(card) if card else "",
        relevance=read_json_with_checksum(relevance) if relevance else {},
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a bundle's manifest, without its checksum.

    Raises:
        ArtefactError: the manifest does not match its checksum.
        InputError: it cannot be read, or is no JSON object.
    """
    return read_json_with_checksum(path, EDITED)


def bundle_state(which: str | Path) -> tuple[object, ...]:
    """Return a value that changes when a file of a bundle changes.

    Raises:
        ArtefactError: no such bundle.
    """
    manifest_path = _locate(which)
    manifest = _checked_manifest(manifest_path, file_state(manifest_path))
    paths = [manifest_path, *(manifest_path.parent / name for name in manifest.get("files") or ())]
    paths += _used(manifest, manifest_path.parent)  # unsealed bundles are allowed
    return tuple(map(file_state, paths))


@lru_cache(maxsize=8)
def _checked_manifest(path: Path, _state: tuple[int, ...]) -> Mapping[str, Any]:
    """Return a manifest, which is read and checked again only if its file has changed."""
    manifest = read_manifest(path)
    _check_form({"perspectives": [], **manifest}, path)
    return manifest


def _used(manifest: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    """Return the files that a manifest names, and those in the folders of its checkpoints."""
    yield from (folder / manifest[key] for key in ("weights", "card", "relevance") if manifest.get(key))
    for item in (*(manifest.get("perspectives") or ()), manifest.get("encoder") or {}):
        checkpoint = folder / str(item.get("checkpoint", "no checkpoint"))
        yield from sorted(path for pattern in ("*", "*/*") for path in checkpoint.glob(pattern))


def _check_form(manifest: Mapping[str, Any], path: Path) -> None:
    for key, (expected_type, form) in FORM.items():
        if not isinstance(manifest.get(key), expected_type | None):
            raise ArtefactError(f"{path}: {key} is {format_value(manifest[key])}; expected {form}.")
    for name, expected in (manifest.get("files") or {}).items():
        if not isinstance(expected, str):
            raise ArtefactError(
                f"{path}: the hash of {format_value(name)} is {format_value(expected)}; expected a SHA-256 as text."
            )
    for item in (*manifest["perspectives"], *([manifest["encoder"]] if manifest.get("encoder") else [])):
        if not (isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("kind"), str)):
            raise ArtefactError(
                f"{path}: a perspective is {format_value(item)}; expected an object with a name and a kind."
            )
        if item.get("level", "sentence") not in get_args(Level):
            raise ArtefactError(
                f"{path}: the level of {format_value(item['name'])} is {format_value(item['level'])}; expected "
                "sentence or document."
            )
        try:
            Column(item["name"], item.get("level", "sentence"), item.get("role", "evidence"))
        except InputError as error:
            raise ArtefactError(f"{path}: {error}") from error


def _read_card(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8")
    except (InputError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{path}: the model card cannot be read ({error}); restore the bundle.") from error


def _locate(which: str | Path) -> Path:
    """Return the path of a bundle's manifest. A folder in the current directory never shadows a shipped bundle."""
    shipped = {path.parent.name: path for path in sorted(SHIPPED.glob(f"*/{MANIFEST}"))}
    if isinstance(which, str) and which in shipped:
        return shipped[which]
    if not isinstance(which, str | Path):
        raise ArtefactError(
            f"bundle is {format_value(which)}; expected the path of a folder, or one of {', '.join(shipped)}."
        )
    located = found_file(which) or found_file(Path(which) / MANIFEST)
    if isinstance(which, str) and not _looks_like_a_path(which):
        hint = f"; for the folder of that name write ./{which}" if located else ""
        raise ArtefactError(
            f"bundle {format_value(which)} not found; give one of {', '.join(shipped)}, or the path of a folder with a "
            f"{MANIFEST}, such as ./mine{hint}."
        )
    if located is None and isinstance(which, str) and is_hub_name(which):
        return fetch_bundle(which, MANIFEST)
    if located is None:
        is_model = found_file(Path(which) / "config.json") is not None
        hint = " It is a model: name it as such, not as a bundle." if is_model else ""
        raise ArtefactError(
            f"bundle {format_value(str(which))} not found; expected a folder with a {MANIFEST}, one of "
            f"{', '.join(shipped)}, or a hub's org/name.{hint}"
        )
    return located


def is_hub_name(which: str) -> bool:
    """Whether text is a hub's ``org/name`` or ``org/name@REVISION``; if the folder ``org`` exists, it is a path."""
    return HUB_NAME.fullmatch(which) is not None and not Path(which.partition("/")[0]).exists()


def _looks_like_a_path(which: str) -> bool:
    return "/" in which or os.sep in which or which in (".", "..") or which.endswith(".json")


def _check_file(path: Path, expected: str, manifest: Path) -> None:
    if not path.is_file():
        raise ArtefactError(f"{path}: the file is missing, though {manifest} lists it; restore the bundle.")
    actual = sha256(path)
    if actual != expected:
        raise ArtefactError(
            f"{path}: the content has SHA-256 {actual[:12]}…, but {manifest} expects {expected[:12]}…; "
            "restore the file, or run `mpir bundle seal` on the folder if the change is meant."
        )


def check_sealed(folder: str | Path, *, but: str) -> None:
    """Verify all files of a bundle except one that is about to change; do nothing without a bundle.

    Raises:
        ArtefactError: a file is missing or damaged, or the manifest itself is.
    """
    manifest_path = Path(folder) / MANIFEST
    if manifest_path.is_file():
        manifest = read_manifest(manifest_path)
        _check_form({"perspectives": [], **manifest}, manifest_path)
        for name, expected in (manifest.get("files") or {}).items():
            if name != but:
                _check_file(manifest_path.parent / name, expected, manifest_path)


def seal_one(folder: str | Path, name: str) -> None:
    """Update the hash of an intentionally changed file in a bundle's manifest; do nothing without a bundle.

    Raises:
        ArtefactError: another file is damaged.
        OutputError: the manifest cannot be written.
    """
    manifest_path = Path(folder) / MANIFEST
    if manifest_path.is_file():
        check_sealed(folder, but=name)
        manifest = read_manifest(manifest_path)
        manifest["files"] = {**(manifest.get("files") or {}), name: sha256(manifest_path.parent / name)}
        write_json_with_checksum(manifest_path, manifest)


def declare(folder: str | Path, key: str, name: str) -> None:
    """Declare a new or intentionally changed file under a key of a bundle's manifest, and seal the bundle.

    Raises:
        ArtefactError: another file is damaged.
        OutputError: the manifest cannot be written.
    """
    check_sealed(folder, but=name)
    manifest_path = Path(folder) / MANIFEST
    write_json_with_checksum(manifest_path, {**read_manifest(manifest_path), key: name})
    seal_one(folder, name)


def seal(folder: str | Path, *, built: bool = False) -> None:
    """Write the hashes of all files and the checksum into a bundle's manifest, after an intentional change.

    With `built`, the hashes are also stored as those of the original files, so that later changes can be detected.

    Raises:
        MpirError: the folder has no manifest, holds a link to a missing file, or cannot be written.
    """
    root = Path(folder)
    manifest = read_json(root / MANIFEST)
    files = [path for path in sorted(root.rglob("*")) if not path.is_dir() and path.name != MANIFEST]
    for path in files:
        if not path.is_file():
            raise InputError(f"{path}: is no file, or a link to one that is not there. Restore it, or remove it.")
    manifest["files"] = {path.relative_to(root).as_posix(): sha256(path) for path in files}
    manifest["format"], manifest["mpir"] = FORMAT, __version__
    if built:
        manifest[BUILT] = manifest["files"]
    if not manifest["files"]:
        raise MpirError(f"{root}: the bundle has no files besides its manifest; put its checkpoints there first.")
    write_json_with_checksum(root / MANIFEST, manifest)


def _listed(folder: Path) -> list[str]:
    files = _hashes(folder).get("files")
    return [MANIFEST, *files] if isinstance(files, dict) else []


def _check_unchanged(folder: Path) -> None:
    """Raise OutputError for a bundle changed since it was built: replacing it would discard tuning and edits."""
    built = _hashes(folder).get(BUILT)
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST]
    current = {path.relative_to(folder).as_posix(): sha256(path) for path in files}
    if current == built:
        return
    changed = sorted(name for name in current if not isinstance(built, dict) or built.get(name) != current[name])
    raise OutputError(
        f"{folder}: is not replaced, since {format_names(changed) or 'it'} may have been changed, such as by tuning, "
        "since the bundle was made; remove it or choose another folder."
    )


def _hashes(folder: Path) -> dict[str, Any]:
    try:
        return read_manifest(folder / MANIFEST)
    except MpirError:
        return {}


BUNDLE = FolderFormat(marker=MANIFEST, listed=_listed, check=_check_unchanged)
"""The files of a bundle: those that its manifest lists."""
