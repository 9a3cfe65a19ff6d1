"""Bundles: sealed by hashes, open to perspectives of a user's own."""

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.calibration import Calibration
from mpir.core.weights import Weights
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.models.bundles.bundle import SHIPPED, bundle_state, declare, read_manifest, seal, seal_one
from mpir.models.perspectives import Perspective, open_bundle, register
from tests.core.test_calibration import FITTED
from tests.damage import FLIPS, check_flips
from tests.models.query_scores import query_scores


@pytest.fixture
def bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))


def rewrite(bundle: Path, **changes: Any) -> None:
    manifest = read_json_with_checksum(bundle / "bundle.json") | changes
    (bundle / "bundle.json").write_text(json.dumps(manifest))


class Length(Perspective):
    """How long a sentence is, in `unit` characters."""

    def __init__(self, unit: float = 1.0) -> None:
        self.unit = unit

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([len(text) / self.unit for _, text in pairs])


def test_perspectives_share_the_encoder_they_declare(bundle: Path) -> None:
    opened = open_bundle(bundle)
    first, second, third = opened.perspectives(device="cpu", precision="fp32")
    assert (first.name, second.name, third.name) == ("relevance", "sts", "sia")
    assert first.encoder is second.encoder is third.encoder  # type: ignore[attr-defined]
    assert opened.card == "# tiny\n"


def test_a_perspective_by_its_place_in_a_module(bundle: Path) -> None:
    rewrite(bundle, perspectives=[{"name": "length", "kind": f"{__name__}:Length", "unit": 2}])
    with pytest.raises(InputError, match=r":Length' .*trust_code"):
        open_bundle(bundle).perspectives()
    (perspective,) = open_bundle(bundle).perspectives(trust_code=True)
    assert perspective.name == "length"
    assert query_scores(perspective, "q", ["four", "six  6"]).tolist() == [2, 3]


def test_a_registered_perspective(bundle: Path) -> None:
    @register("constant-for-test")
    def constant(name: str, options: Any, loading: Any) -> Perspective:
        perspective = Length(options["unit"])
        perspective.name = name
        return perspective

    rewrite(bundle, perspectives=[{"name": "mine", "kind": "constant-for-test", "unit": 4}])
    (perspective,) = open_bundle(bundle).perspectives()
    assert query_scores(perspective, "q", ["four"]).tolist() == [1]


def test_a_registered_class(bundle: Path) -> None:
    assert register("length-for-test")(Length) is Length
    rewrite(bundle, perspectives=[{"name": "mine", "kind": "length-for-test", "unit": 4}])
    (perspective,) = open_bundle(bundle).perspectives()
    assert (perspective.name, query_scores(perspective, "q", ["four"]).tolist()) == ("mine", [1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"card": "nothing.md"}, r"nothing\.md: .*card"),
        ({"card": 5}, r"bundle\.json: card is 5"),
        ({"files": {"weights.json": 5}}, r"bundle\.json: .*'weights\.json' is 5"),
        ({"files": ["model"]}, r"bundle\.json: files is \['model'\]"),
        ({"perspectives": "sts"}, r"bundle\.json: perspectives is 'sts'"),
        ({"perspectives": ["sts"]}, r"bundle\.json: .*perspective is 'sts'"),
        ({"perspectives": [{"name": "sts", "kind": 5}]}, r"perspective is \{'name': 'sts', 'kind': 5\}"),
        ({"encoder": 5}, r"bundle\.json: encoder is 5"),
        ({"encoder": {"name": "dense"}}, r"a perspective is \{'name': 'dense'\}"),
    ],
)
def test_a_manifest_of_another_form(bundle: Path, changes: dict[str, Any], message: str) -> None:
    rewrite(bundle, **changes)
    with pytest.raises(ArtefactError, match=message):
        open_bundle(bundle)


def test_an_unknown_kind_names_the_known_ones(bundle: Path) -> None:
    rewrite(bundle, perspectives=[{"name": "x", "kind": "crystal-ball"}])
    with pytest.raises(InputError, match=r"'crystal-ball' .*cross-encoder"):
        open_bundle(bundle).perspectives()
    for variant in ("no_such_module:Thing", ":Thing"):
        rewrite(bundle, perspectives=[{"name": "x", "kind": variant}])
        with pytest.raises(InputError, match="cannot be imported"):
            open_bundle(bundle).perspectives(trust_code=True)


def test_a_changed_file_is_named(bundle: Path) -> None:
    (bundle / "weights.json").write_text("{}")
    with pytest.raises(ArtefactError, match=r"weights\.json: .*SHA-256"):
        open_bundle(bundle)


def test_every_changed_byte_of_a_bundle_is_refused_or_changes_nothing(bundle: Path) -> None:
    write_json_with_checksum(bundle / "relevance.json", FITTED)
    declare(bundle, "relevance", "relevance.json")
    manifest = read_manifest(bundle / "bundle.json")

    def read() -> Any:
        opened = open_bundle(bundle)
        values = [opened.manifest.get(name) for name in manifest]
        return (
            values,
            opened.name,
            Weights.from_dict(opened.weights),
            Calibration.from_dict(opened.relevance),
            opened.card,
        )

    assert check_flips([bundle / "bundle.json"], read) > 80
    assert check_flips([bundle / name for name in ("weights.json", "relevance.json", "CARD.md")], read) == FLIPS


def test_a_manifest_that_was_edited_is_refused_until_its_checksum_is_removed_or_sealed(bundle: Path) -> None:
    path = bundle / "bundle.json"
    edited = path.read_text().replace('"tiny"', '"mine"')
    path.write_text(edited)
    message = r'bundle\.json: .*checksum; .*restore .*"checksum"'
    for action in (open_bundle, bundle_state, partial(seal_one, name="weights.json")):
        with pytest.raises(ArtefactError, match=message):
            action(bundle)
    path.write_text(json.dumps({**json.loads(edited), "checksum": None}).replace(', "checksum": null', ""))
    assert open_bundle(bundle).name == "mine"
    path.write_text(edited)
    seal(bundle)
    assert open_bundle(bundle).name == "mine"


def test_a_missing_file_is_named(bundle: Path) -> None:
    (bundle / "model/model.safetensors").unlink()
    with pytest.raises(ArtefactError, match=r"model\.safetensors: .*missing"):
        open_bundle(bundle)


def test_another_format_is_refused(bundle: Path) -> None:
    rewrite(bundle, format=99)
    with pytest.raises(ArtefactError, match="format is 99"):
        open_bundle(bundle)


def test_an_option_that_a_kind_does_not_take(bundle: Path) -> None:
    rewrite(bundle, perspectives=[{"name": "x", "kind": "cross-encoder", "checkpoint": "model", "colour": "red"}])
    with pytest.raises(ArtefactError, match=r"'x' is invalid.*colour"):
        open_bundle(bundle).perspectives()


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (None, "is missing"),
        (5, "is 5"),
        ("./" + "x" * 9999, r"'\./x+…"),
        ("~nobody-of-this-name/bundle", "'~nobody-of-this-name/bundle'"),
        (Path("x" * 9999), "'x+…"),
    ],
)
def test_what_no_bundle_can_be_is_one_sentence(which: Any, message: str) -> None:
    with pytest.raises(ArtefactError, match=f"^bundle {message}") as caught:
        open_bundle(which)
    assert len(str(caught.value)) < 250


def test_no_such_bundle() -> None:
    for which in ("nowhere", "./nowhere", Path("nowhere"), ""):
        with pytest.raises(ArtefactError, match=r"not found; .*default"):
            open_bundle(which)


MALICE = """
import pathlib
pathlib.Path("it ran").touch()
"""


def test_a_folder_beside_the_script_neither_stands_in_for_a_shipped_bundle_nor_runs_code(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "malice.py").write_text(MALICE)
    rewrite(bundle, perspectives=[{"name": "x", "kind": "malice:Thing"}], files={})
    for name in ("default", "mine"):
        shutil.copytree(bundle, tmp_path / name)
    assert open_bundle("default").folder == SHIPPED / "default"
    with pytest.raises(ArtefactError, match=r"'mine' not .*\./mine"):
        open_bundle("mine")
    for path in ("./default", Path("default"), str(tmp_path / "mine"), "mine/bundle.json"):
        with pytest.raises(InputError, match=r"'malice:Thing' .*run code"):
            open_bundle(path).perspectives()
    assert not (tmp_path / "it ran").exists()


def test_a_link_to_a_missing_file_is_not_left_out_of_a_seal(bundle: Path) -> None:
    (bundle / "more.txt").symlink_to(bundle / "unmounted")
    with pytest.raises(InputError, match=r"more\.txt: .*link"):
        seal(bundle)


def test_one_file_is_sealed_and_damage_elsewhere_stays_known(bundle: Path) -> None:
    (bundle / "weights.json").write_text("{} ")
    seal_one(bundle, "weights.json")
    assert open_bundle(bundle).weights == {}
    with open(bundle / "model" / "model.safetensors", "ab") as stream:
        stream.write(b"damage")
    for name in ("weights.json", "new.json"):
        with pytest.raises(ArtefactError, match=r"model\.safetensors: .*SHA-256"):
            seal_one(bundle, name)
    with pytest.raises(ArtefactError, match=r"model\.safetensors: .*SHA-256"):
        open_bundle(bundle)
