"""Every notebook runs from its first cell to its last, without a network, as a kernel would run it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def as_script(notebook: Path) -> str:
    """The code of all cells in one script; the last expression of a cell is shown as a notebook shows it."""
    lines = ["def show(value):", "    print(getattr(value, '_repr_html_', value.__repr__)())"]
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            if isinstance(tree.body[-1], ast.Expr):
                shown = ast.Call(ast.Name("show", ast.Load()), [tree.body[-1].value], [])
                tree.body[-1] = ast.Expr(shown)
            lines.append(ast.unparse(ast.fix_missing_locations(tree)))
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text(as_script(notebook), encoding="utf-8")
    finished = subprocess.run([sys.executable, tmp_path / "notebook.py"], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "CFTR" in finished.stdout


def test_notebooks_are_kept_without_outputs() -> None:
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        assert all(not cell.get("outputs") for cell in cells), notebook
