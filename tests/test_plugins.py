"""A package of its own adds commands, readers, writers, first stages, dialects, families of models and perspectives."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mpir.models.perspectives.registration import ENTRY_POINTS
from mpir.plugins import GROUPS

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs/examples/additions"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder of the path on which the example is installed, by the metadata that an installer writes."""
    folder = tmp_path / "packages"
    shutil.copytree(EXAMPLE / "mpir_additions", folder / "mpir_additions")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / f"mpir_additions-{project['version']}.dist-info"
    metadata.mkdir()
    head = {"Metadata-Version": "2.1", "Name": project["name"], "Version": project["version"]}
    lines = [f"{key}: {value}" for key, value in {**head, "Summary": project["description"]}.items()]
    (metadata / "METADATA").write_text("\n".join(lines) + "\n")
    groups = project["entry-points"].items()
    text = "".join(f"[{group}]\n" + "".join(f"{name} = {v}\n" for name, v in names.items()) for group, names in groups)
    (metadata / "entry_points.txt").write_text(text)
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "doses.notes"
    file.write_text("Aspirin\nIt was given.\n\nHeparin\nThe dose was 5 mg.\n")
    return file


def run(packages: Path, *words: str, module: tuple[str, ...] = ("-m", "mpir")) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(packages), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, *module, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=packages.parent, encoding="utf-8"
    )


def test_the_example_has_an_addition_to_each_group() -> None:
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert set(declared) == {*GROUPS, ENTRY_POINTS}


def test_a_command_of_a_package_is_listed_and_runs(packages: Path, notes: Path) -> None:
    assert "ids       print the ids of documents" in run(packages, "--help").stdout
    assert "mpir ids abstracts.jsonl --titles" in run(packages, "ids", "--help").stdout
    words = ["ids", str(notes), "--titles", "--set", "ids.width=8"]
    finished = run(packages, *words)
    assert (finished.returncode, finished.stdout) == (0, "doses-1  Aspirin\ndoses-2  Heparin\n"), finished.stderr
    assert run(packages, "ids").returncode == 2


def test_a_command_of_a_package_does_not_load_while_another_runs(packages: Path) -> None:
    (packages / "mpir_additions/ids.py").write_text("raise ValueError('loaded')\n")
    assert run(packages, "--help").returncode == 0
    assert run(packages, "search", "--help").returncode == 0
    assert "loaded" in run(packages, "ids", "--help").stderr


def test_a_command_of_a_package_without_a_dataclass_of_arguments_is_refused(packages: Path) -> None:
    (packages / "mpir_additions/ids.py").write_text("OPTIONS = ()\ndef run(arguments): return 0\n")
    finished = run(packages, "ids")
    assert finished.returncode == 2
    assert finished.stderr.startswith("mpir: mpir-additions: the command 'ids' takes 'None'")
    (packages / "mpir_additions/ids.py").write_text("def run(arguments: 'OfTypesAlone'): return 0\n")
    assert run(packages, "ids").stderr.startswith("mpir: mpir-additions: the command 'ids' takes 'OfTypesAlone'")
    assert run(packages, "doctor", "--help").returncode == 0


def test_a_file_of_settings_may_have_those_of_a_package(packages: Path, notes: Path) -> None:
    settings = packages.parent / "mpir.toml"
    for file, status in (("[ids]\nwidth = 3\n", 0), ("[ids]\nheight = 3\n", 2)):
        settings.write_text(file)
        assert run(packages, "ids", str(notes)).returncode == status
        assert run(packages, "doctor").returncode == status


def test_a_ranking_reads_and_writes_by_a_package_and_ranks_by_its_perspective(packages: Path, notes: Path) -> None:
    folder = packages.parent
    manifest = {"format": 1, "name": "by-numbers", "perspectives": [{"name": "numbers", "kind": "numbers"}]}
    (folder / "bundle").mkdir()
    (folder / "bundle/bundle.json").write_text(json.dumps(manifest))
    words = ["rerank", "how large is the dose", "--docs", str(notes), "--bundle", "./bundle", "--output", "ranking.tsv"]
    words += ["--set", "cache.folder=none", "--quiet"]
    finished = run(packages, *words)
    assert finished.returncode == 0, finished.stderr
    rows = [line.split("\t")[:3] for line in (folder / "ranking.tsv").read_text().splitlines()]
    assert rows == [["query", "rank", "document"], ["1", "1", "doses-2"], ["1", "2", "doses-1"]]
    assert run(packages, *words).returncode == 0  # the writer knows its own file
    (folder / "ranking.tsv").write_text("somebody else's")
    assert run(packages, *words).returncode == 2


def test_a_model_of_a_family_of_a_package_ranks(packages: Path, notes: Path) -> None:
    model = packages.parent / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"model_type": "weighted-terms", "weights": {"dose": 3.0}}))
    words = ["rerank", "heparin", "--docs", str(notes), "--model", str(model), "--set", "model.only=true"]
    finished = run(packages, *words, "--set", "cache.folder=none", "--format", "json", "--quiet")
    assert finished.returncode == 0, finished.stderr
    documents = json.loads(finished.stdout)["documents"]
    assert [(document["id"], document["scores"]["model"]) for document in documents] == [
        ("doses-2", 3.0),
        ("doses-1", 0.0),
    ]
    (model / "config.json").write_text(json.dumps({"model_type": "something else"}))
    refused = run(packages, *words)
    assert refused.returncode == 2
    assert "weighted terms" in refused.stderr


def test_a_first_stage_of_a_package_is_searched(packages: Path, notes: Path) -> None:
    address = f"words+{notes.as_uri()}"
    finished = run(packages, "search", "--index", address, "the dose of heparin", "--format", "trec")
    assert finished.returncode == 0, finished.stderr
    assert [line.split()[2] for line in finished.stdout.splitlines()] == ["doses-2"]


def test_a_dialect_of_a_package_is_served(packages: Path) -> None:
    code = "from mpir.app.serve.dialects import DIALECTS, dialect_of\n"
    code += "print(dialect_of('/order', ()).name, dialect_of('/rerank', ()) is DIALECTS[-1])"
    finished = run(packages, code, module=("-c",))
    assert finished.stdout.split() == ["order", "True"], finished.stderr


def test_an_addition_that_cannot_be_imported_names_its_package(packages: Path, notes: Path) -> None:
    (packages / "mpir_additions/notes.py").write_text("import no_such_module\n")
    finished = run(packages, "ids", str(notes))
    assert finished.returncode == 2
    assert finished.stderr.startswith("mpir: mpir-additions: its 'notes' of mpir.readers cannot be imported (No module")
