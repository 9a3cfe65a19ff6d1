import json
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import main

SAMPLE = Path(mpir.__file__).parent / "sample/radiology"
LEXICON = str(SAMPLE / "chest-xray.tsv")


def written(path: Path, *records: dict[str, str]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def test_one_object_a_document_with_exact_offsets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Clear apex.There may be edema. 1. No pleural effusion."
    reports = written(
        tmp_path / "r.jsonl", {"id": "7", "title": "Old fracture", "text": text}, {"id": "8", "text": " "}
    )
    assert main(["annotate", reports, "--lexicon", LEXICON]) == 0
    output = capsys.readouterr()
    first, second = map(json.loads, output.out.splitlines())
    assert first["id"] == "7"
    keys = ("concept", "section", "begin", "end", "status", "trigger")
    assert list(first["mentions"][0]) == ["concept", "phrase", *keys[1:]]
    assert first["mentions"][2]["phrase"] == "pleural effusion*"
    assert [tuple(mention[key] for key in keys) for mention in first["mentions"]] == [
        ("fracture", "title", 4, 12, "affirmed", ""),
        ("pulmonary edema", "abstract", 24, 29, "possible", "may be"),
        ("pleural effusion", "abstract", 37, 53, "negated", "No"),
    ]
    assert second == {"id": "8", "mentions": []}
    assert "not for clinical use" in output.err


def test_files_from_windows_are_read_like_any_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("reports.jsonl", "lexicon.tsv", "triggers.txt")
    contents = (
        '{"id": "7", "text": "Clear.\\r\\nDevoid of effusion."}\n',
        "effusion\teffusion\n",
        "devoid of\t\t[PREN]\n",
    )
    for name, content in zip(names, contents, strict=True):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode())
    reports, lexicon, triggers = (str(tmp_path / name) for name in names)
    assert main(["annotate", reports, "--lexicon", lexicon, "--set", f"lexicon.triggers={triggers}"]) == 0
    record = json.loads(capsys.readouterr().out)
    (mention,) = record["mentions"]
    assert (record["id"], mention["begin"], mention["end"], mention["status"]) == ("7", 18, 26, "negated")


def test_reports_without_text_have_no_mentions_and_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    reports = written(tmp_path / "r.jsonl", {"id": "7", "text": ""}, {"id": "8", "title": "", "text": " \n"})
    assert main(["annotate", reports, "--lexicon", LEXICON]) == 0
    assert [json.loads(line)["mentions"] for line in capsys.readouterr().out.splitlines()] == [[], []]
    assert "without mentions: 2" in caplog.text


def test_a_megabyte_without_a_full_stop_is_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    piece = "and the lungs " * 72 + "have no effusion"
    text = " ".join([piece] * 1024)
    assert len(text) > 2**20
    reports = written(tmp_path / "r.jsonl", {"id": "7", "text": text})
    assert main(["annotate", reports, "--lexicon", LEXICON]) == 0
    result = json.loads(capsys.readouterr().out)["mentions"]
    assert len(result) == 1024
    assert {text[mention["begin"] : mention["end"]] for mention in result} == {"effusion"}
    assert {mention["status"] for mention in result} == {"negated"}


def test_triggers_and_likeness_are_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = written(tmp_path / "r.jsonl", {"id": "7", "text": "Effusions, of the pleura. Effusion absent."})
    triggers = tmp_path / "t.txt"
    triggers.write_text("of the pleura\t[POST]\n", encoding="utf-8")
    lexicon = tmp_path / "l.tsv"
    lexicon.write_text("effusion\teffusion pleural\n", encoding="utf-8")
    assert (
        main(
            [
                "annotate",
                reports,
                "--lexicon",
                str(lexicon),
                "--set",
                "lexicon.partial=0.6",
                "--set",
                f"lexicon.triggers={triggers}",
            ]
        )
        == 0
    )
    (mention,) = json.loads(capsys.readouterr().out)["mentions"]
    assert (mention["begin"], mention["end"], mention["status"]) == (0, 24, "affirmed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lexicon", "missing.tsv"], "missing.tsv: cannot be read"),
        (["--lexicon", LEXICON, "--set", "lexicon.triggers=nothing"], "nothing: cannot be read"),
        (["--lexicon", LEXICON, "--set", "lexicon.partial=2"], "threshold is 2.0"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    reports = written(tmp_path / "r.jsonl", {"id": "7", "text": "Clear."})
    assert main(["annotate", reports, *arguments]) == 2
    assert message in capsys.readouterr().err
