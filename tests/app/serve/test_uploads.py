"""Files that are dropped on the page: read by content, refused in one sentence, within the server's limits."""

import base64
import gzip
import os
import time
from pathlib import Path
from typing import Any

import pytest

from mpir.app.serve.settings import ApiError, Limits
from mpir.app.serve.upload_folder import PREFIX as FOLDER
from mpir.app.serve.upload_folder import remove_leftovers, upload_folder
from mpir.app.serve.uploads import read_upload
from mpir.files.corpora.content import PREFIX

TWO = b'{"id": 1, "title": "a"}\n{"id": 2, "title": "b"}\n'
NBIB = "PMID- 11\nTI  - Aspirin\nAB  - It thins the blood.\nJT  - Heart\nDP  - 2004\n\nPMID- 11\nTI  - Aspirin\n"


def upload(content: bytes, name: str = "set.txt", **limits: Any) -> list[dict[str, Any]]:
    data = base64.b64encode(content).decode()
    with upload_folder() as folder:
        documents: list[dict[str, Any]] = read_upload({"name": name, "data": data}, Limits(**limits), folder)[
            "documents"
        ]
    assert not folder.exists()
    return documents


def test_records_come_with_what_the_page_shows_and_each_once() -> None:
    (record,) = upload(NBIB.encode())
    assert (record["id"], record["title"], record["abstract"]) == ("11", "Aspirin", "It thins the blood.")
    assert (record["year"], record["journal"]) == (2004, "Heart")


def test_records_without_an_id_are_named_by_their_words() -> None:
    (record,) = upload(b"TY  - JOUR\nTI  - Aspirin\nER  - \n", "my library.ris")
    assert record["id"].startswith(PREFIX)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\0b", "x" * 5000, "", "list.csv/"])
def test_a_name_is_no_path(name: str) -> None:
    assert len(upload(NBIB.encode(), name)) == 1


@pytest.mark.parametrize(
    ("values", "limits", "status", "message"),
    [
        ({"name": "a.ris", "data": "?"}, {}, 400, "content in base64"),
        ({"name": "a.ris", "data": base64.b64encode(b"PK\3\4").decode()}, {}, 400, "a.ris: "),
        ({"name": "a.ris"}, {}, 400, "data"),
        (
            {"name": "a.jsonl.gz", "data": base64.b64encode(gzip.compress(TWO, mtime=0)).decode()},
            {"body": 1},
            413,
            "limit of text",
        ),
        (
            {"name": "a.jsonl", "data": base64.b64encode(TWO).decode()},
            {"documents": 1},
            413,
            r"a\.jsonl: .*\b1 documents",
        ),
    ],
)
def test_what_cannot_be_ranked_is_refused(tmp_path: Path, values: Any, limits: Any, status: int, message: str) -> None:
    with pytest.raises(ApiError, match=message) as refused:
        read_upload(values, Limits(**limits), tmp_path)
    assert refused.value.status == status
    assert "/tmp" not in refused.value.message


def test_folders_of_killed_servers_are_removed_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    target = tmp_path / "target"
    target.mkdir()
    (target / "text").touch()
    (tmp_path / f"{FOLDER}link").symlink_to(target)
    for name in ("killed", "new", "old"):
        (tmp_path / f"{FOLDER}{name}").mkdir()
    (tmp_path / f"{FOLDER}killed" / ".lock").touch()
    os.utime(tmp_path / f"{FOLDER}old", (time.time() - 3600,) * 2)
    with upload_folder() as folder:
        remove_leftovers()
        assert {path.name for path in tmp_path.iterdir()} == {"target", f"{FOLDER}link", f"{FOLDER}new", folder.name}
    assert (target / "text").exists()
