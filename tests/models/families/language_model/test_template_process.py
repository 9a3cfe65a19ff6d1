"""The process that renders chat templates."""

import json
import os
import subprocess
import sys
from pathlib import Path

TASK = json.dumps({"template": "{{ messages[0].content }}", "conversations": [[]], "special_tokens": {}})


def test_a_transformers_whose_modules_need_its_package_is_imported_whole(tmp_path: Path) -> None:
    utils = tmp_path / "transformers/utils"
    utils.mkdir(parents=True)
    (tmp_path / "transformers/__init__.py").write_text("needed = 'whole'\n")
    (utils / "__init__.py").touch()
    (utils / "chat_template_utils.py").write_text(
        "from transformers import needed\ndef render_jinja_template(*_, **__): return [needed], []\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "mpir.models.families.language_model._template_process"]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(command, input=TASK, capture_output=True, text=True, check=True, env=environment)
    assert json.loads(result.stdout) == {"texts": ["whole"]}
