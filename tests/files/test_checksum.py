"""Checksums: whatever byte of an artefact changes, its reader refuses it or reads what was written."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpir.core.checksum import add_checksum, verify_checksum
from mpir.errors import ArtefactError
from mpir.files.checksum import (
    read_json_with_checksum,
    verify_bytes,
    write_bytes_with_checksum,
    write_json_with_checksum,
)
from tests.damage import check_flips

VALUES = {"name": "β-cells", "numbers": (1, 0.1, 1e-7), 10: {"b": None, "a": True}, 9: "\ud800"}


def test_an_object_comes_back_without_its_checksum(tmp_path: Path) -> None:
    values = {"name": "β-cells", "numbers": (1, 0.1, 1e-7), 10: {"b": None, "a": True}, 9: []}
    write_json_with_checksum(tmp_path / "a.json", values)
    expected = {"name": "β-cells", "numbers": [1, 0.1, 1e-7], "10": {"b": None, "a": True}, "9": []}
    assert read_json_with_checksum(tmp_path / "a.json") == expected


def test_half_a_character_has_a_checksum_like_any_text() -> None:
    values = json.loads(json.dumps(add_checksum(VALUES)))
    assert verify_checksum(values, "a.json")["9"] == "\ud800"


def test_order_and_spaces_do_not_matter_and_a_file_written_by_hand_needs_no_checksum(tmp_path: Path) -> None:
    values = {"b": 1, "a": [1.5]}
    (tmp_path / "a.json").write_text(json.dumps(dict(sorted(add_checksum(values).items())), indent=7))
    assert read_json_with_checksum(tmp_path / "a.json") == values
    (tmp_path / "a.json").write_text('{"b": 1, "a": [1.5]}')
    assert read_json_with_checksum(tmp_path / "a.json") == values


def test_a_change_is_refused_with_the_remedy() -> None:
    changed = {**add_checksum({"beta": 1}), "beta": 2}
    with pytest.raises(ArtefactError, match=r'^a\.json: .*checksum; .*field "checksum"'):
        verify_checksum(changed, "a.json")
    with pytest.raises(ArtefactError, match=r"^a\.json: .*checksum; make it anew\.$"):
        verify_checksum({"beta": 1, "checksum": None}, "a.json", "make it anew")


def test_every_changed_byte_of_an_object_is_seen(tmp_path: Path) -> None:
    path, values = tmp_path / "a.json", {"alpha": {"relevance": 0.25, "sts": 1.0}, "text": "naïve", "n": 17}
    write_json_with_checksum(path, values)

    def read() -> list[Any]:
        """As readers do: by the names of fields. A checksum whose own name has changed is passed over."""
        read = read_json_with_checksum(path)
        return [read.get(name) for name in values]

    assert check_flips([path], read) > 60


@pytest.mark.parametrize("size", [0, 1, 80, 2**20, 2**20 + 1])
def test_a_binary_file_has_its_checksum_at_its_end(tmp_path: Path, size: int) -> None:
    path, content = tmp_path / "a.bin", random.Random(size).randbytes(size)
    with write_bytes_with_checksum(path) as stream:
        stream.write(content[: size // 2])
        stream.write(content[size // 2 :])
    assert path.read_bytes().startswith(content)
    verify_bytes(path, "remove it")

    def read() -> bytes:
        verify_bytes(path, "remove it")
        return path.read_bytes()[:size]

    assert check_flips([path], read, number=25) > 15
    path.write_bytes(content)
    verify_bytes(path, "remove it")  # without a checksum it is accepted


def test_an_error_that_is_no_sentence_fails_the_check(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}')

    def read() -> Any:
        return json.loads(path.read_bytes())["a"]

    with pytest.raises(AssertionError, match="byte"):
        check_flips([path], read)


def test_another_answer_fails_the_check(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("answer")
    read: Callable[[], Any] = path.read_bytes
    with pytest.raises(AssertionError, match="byte"):
        check_flips([path], read)
