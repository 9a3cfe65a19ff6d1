import json
from pathlib import Path

import pytest

import mpir
from mpir.cli import main

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
    assert [tuple(mention[key] for key in keys) for mention in first["mentions"]] == [
        ("fracture", "title", 4, 12, "affirmed", ""),
        ("pulmonary edema", "abstract", 24, 29, "possible", "may be"),
        ("pleural effusion", "abstract", 37, 53, "negated", "No"),
    ]
    assert second == {"id": "8", "mentions": []}
    assert "not for clinical use" in output.err


def test_triggers_and_likeness_are_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = written(tmp_path / "r.jsonl", {"id": "7", "text": "Effusions, of the pleura. Effusion absent."})
    triggers = tmp_path / "t.txt"
    triggers.write_text("of the pleura\t[POST]\n", encoding="utf-8")
    lexicon = tmp_path / "l.tsv"
    lexicon.write_text("effusion\teffusion pleural\n", encoding="utf-8")
    assert main(["annotate", reports, "--lexicon", str(lexicon), "--partial", "0.6", "--triggers", str(triggers)]) == 0
    (mention,) = json.loads(capsys.readouterr().out)["mentions"]
    assert (mention["begin"], mention["end"], mention["status"]) == (0, 24, "affirmed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lexicon", "missing.tsv"], "missing.tsv: cannot be read"),
        (["--lexicon", LEXICON, "--triggers", "nothing"], "nothing: cannot be read"),
        (["--lexicon", LEXICON, "--partial", "2"], "threshold is 2.0"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    reports = written(tmp_path / "r.jsonl", {"id": "7", "text": "Clear."})
    assert main(["annotate", reports, *arguments]) == 2
    assert message in capsys.readouterr().err
