"""The pages keep their word: code runs, commands parse, links lead somewhere, and the index has every page."""

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from mpir.app.cli import make_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n\n)?```(\w*)\n(.*?)```", re.DOTALL)
OF_CLIENTS = "integrations.md"
"""Its examples need other libraries: tests/clients/test_examples.py runs them."""
WITH_CODE = [page for page in PAGES if page.name != OF_CLIENTS and "```python" in page.read_text(encoding="utf-8")]

SHOWN = r"```python\n(.*?)```\n\n```\n(.*?)```"
"""An example, and what it prints."""

PREDEFINED = {"query": "a gene", "docs": ["A gene.", "A cell."], "queries": ["a gene"], "lists_of_docs": [["A gene."]],
         "reports": ["No pleural effusion."]}  # fmt: skip
FILES = {"documents.jsonl": "abstracts.jsonl", "radiology/chest-xray.tsv": "chest-xray.tsv"}
"""Names and files that a page may take for granted."""
PROGRAMS = {"mpir", "python", "make", "pip", "curl", "docker", "cp", "for"}
"""What a block of commands begins with; other blocks without a language show what is printed."""


def blocks(page: Path, *languages: str) -> list[str]:
    result = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for skipped, language, text in result if language in languages and not skipped]


def commands(page: Path, program: str = "mpir") -> list[str]:
    """The lines of a page's blocks that call a program, each stage of a pipe by itself."""
    lines = "\n".join(blocks(page, "", "bash")).replace("\\\n", " ").splitlines()
    stages = [stage.strip() for line in lines for stage in re.split(r"\s[|<>]\s", line.split("  #")[0])]
    return [stage for stage in stages if stage.startswith(f"{program} ") and "…" not in stage]


def source_of(script: Path) -> str:
    """The text of a script, and of what it imports from its own folder and from mpir."""
    text = script.read_text(encoding="utf-8")
    names = re.findall(r"^\s*(?:from|import) ([\w.]+)", text, re.MULTILINE)
    if "mpir.app.cli.model_options" in names:  # which has options of others, too
        names += [f"mpir.app.cli.{name}_options" for name in ("parser", "chat", "lexicon", "cache")]
    files = [folder / f"{name.replace('.', '/')}.py" for name in names for folder in (script.parent, ROOT)]
    return text + "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())


def test_no_page_installs_a_package_of_this_name_that_is_not_ours() -> None:
    """Until the name is claimed on the public index; an extra of an installed mpir is taken from its own metadata."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        installs = re.findall(r"uvx[^\n]*mpir|(?:pip|pipx|uv tool) install '?mpir[^\[]", text)
        assert (page.name, installs) == (page.name, [])


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, copy in FILES.items():
        shutil.copy(ROOT / "mpir/sample" / name, copy)
    names: dict[str, object] = dict(PREDEFINED)
    skipped = []
    for block in blocks(page, "python"):
        try:
            exec(compile(block, str(page), "exec"), names)
        except ImportError as error:
            skipped.append(str(error))
    if skipped:
        pytest.skip("; ".join(skipped))


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/guides/rerank.md", "docs/guides/explain.md"])
def test_an_example_prints_what_stands_below_it(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the default bundle; with another precision a score may differ in its last digits."""
    code, expected = re.findall(SHOWN, (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)[0]
    exec(compile(code, page, "exec"), {})
    printed, number = capsys.readouterr().out, re.compile(r"-?\d+\.\d+|-{2,}")
    assert number.sub("", printed).split() == number.sub("", expected).split()
    figures = [[float(result) for result in re.findall(r"-?\d+\.\d+", text)] for text in (printed, expected)]
    assert figures[0] == pytest.approx(figures[1], abs=0.05)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_is_json_and_commands_are_whole(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block.replace(", …", ""))
    for block in blocks(page, "", "bash"):
        if block.split()[0] in PROGRAMS:
            subprocess.run(["sh", "-n"], input=block, text=True, check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_that_are_named_are_there(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"(?:mpir|[\"'.])\[([a-z,-]+)\]", page.read_text(encoding="utf-8")):
        assert set(named.split(",")) <= set(extras), named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_the_options_that_are_shown(page: Path) -> None:
    for command in commands(page):
        make_parser().parse_args(shlex.split(command)[1:])


def script_of(module: str) -> str:
    """The path of a module of experiments/, or its own name for another module."""
    path = module.replace(".", "/")
    if not module.startswith("experiments."):
        return module
    return f"{path}/__main__.py" if (ROOT / path).is_dir() else f"{path}.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scripts_are_there_and_know_the_options_that_are_shown(page: Path) -> None:
    for command in commands(page, "python"):
        script, *inputs = command.split()[1:]
        if script == "-m":
            script = script_of(inputs.pop(0))
        if script.endswith(".py"):
            source = source_of(ROOT / script)
            for option in re.findall(r"(?<!\S)--[a-z-]+", " ".join(inputs)):
                assert f'"{option}"' in source, (command, option)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_made_has_a_rule(page: Path) -> None:
    rules = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {command.split()[1] for command in commands(page, "make")} <= rules


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert link.startswith("http") or (page.parent / link).exists(), link
        if page.is_relative_to(DOCS) and not link.startswith("http"):
            assert (page.parent / link).resolve().is_relative_to(DOCS), (
                f"the site made of docs/ alone does not have {link}"
            )


def anchors(page: Path) -> set[str]:
    """Where a link can lead inside a page: its headings, as GitHub and mkdocs spell them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_a_section_find_it(page: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text(encoding="utf-8")):
        assert anchor in anchors(page.parent / link if link else page), (link, anchor)


def test_the_index_and_the_site_have_every_page() -> None:

    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    linked = set(re.findall(r"\((\w[\w/-]*\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert pages - linked == {"index.md"}
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert named == pages


def test_every_page_is_linked_from_where_it_is_needed() -> None:
    """A page that only the index names is read by nobody who works on its subject."""
    linked = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
        if page != DOCS / "index.md"
    }
    pages = {page for page in DOCS.rglob("*.md") if page != DOCS / "index.md"}
    assert {page.relative_to(DOCS).as_posix() for page in pages - linked} == set()


def test_the_site_loads_nothing_from_elsewhere() -> None:
    import yaml

    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert site["theme"]["font"] is False
    assert not {"extra_css", "extra_javascript"} & set(site)


def test_the_clients_lines_are_those_that_their_tests_run() -> None:
    page = (ROOT / "docs/guides/serve.md").read_text(encoding="utf-8")
    tests = (ROOT / "tests/clients/test_http.py").read_text(encoding="utf-8")
    lines = re.findall(r"^\| [\w' ]+ \| `(.*url.*)` \|$", page, re.MULTILINE)
    assert len(lines) == 9
    assert [line for line in lines if line not in tests] == []


def test_the_citation_has_what_its_format_needs() -> None:
    import yaml

    import mpir

    result = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(result)
    assert (result["cff-version"], str(result["version"])) == ("1.2.0", mpir.__version__)
    heading = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heading and heading[1] == mpir.__version__


@pytest.mark.parametrize("card", sorted(ROOT.glob("mpir/bundles/*/CARD.md")), ids=lambda path: path.parent.name)
def test_a_model_card_begins_with_what_hubs_read(card: Path) -> None:
    import yaml

    front = yaml.safe_load(card.read_text(encoding="utf-8").split("---\n")[1])
    assert {"license", "language", "library_name", "pipeline_tag", "base_model", "datasets", "metrics"} <= set(front)
    assert front["pipeline_tag"] == "text-ranking"
