"""The obvious alternative: FastAPI around sentence-transformers' CrossEncoder, with one for each checkpoint.

python benchmarks/plain_server.py PORT CHECKPOINT…
"""

from __future__ import annotations

from typing import Any

import numpy as np
import uvicorn
from fastapi import Body, FastAPI
from peers import load_quietly

from mpir.app.cli import script_parser
from mpir.app.cli.value_options import positive, text_path
from mpir.core.text import Document
from mpir.core.text.split import sentences


def main(port: int, checkpoints: list[str]) -> None:
    """Serve until stopped."""
    load_quietly()
    from sentence_transformers import CrossEncoder

    models = [CrossEncoder(checkpoint, trust_remote_code=False) for checkpoint in checkpoints]
    app = FastAPI()

    @app.post("/v1/rerank")
    def rerank(body: dict[str, Any] = Body()) -> dict[str, Any]:  # noqa: B008  (FastAPI's way)
        documents = [Document(str(number), abstract=text) for number, text in enumerate(body["documents"])]
        split = [
            (number, sentence.text) for number, document in enumerate(documents) for sentence in sentences(document)
        ]
        pairs = [(body["query"], text) for _, text in split]
        scores = sum(model.predict(pairs, show_progress_bar=False) for model in models)
        best = np.full(len(documents), -np.inf)
        np.maximum.at(best, [number for number, _ in split], scores)
        order = np.argsort(-best, kind="stable").tolist()
        return {"results": [{"index": number, "relevance_score": float(best[number])} for number in order]}

    @app.get("/ready")
    def ready() -> dict[str, bool]:
        return {"ready": True}

    uvicorn.run(app, port=port, log_level="warning")


if __name__ == "__main__":
    parser = script_parser(__doc__)
    parser.add_argument("port", type=positive, metavar="PORT")
    parser.add_argument(
        "checkpoints", type=text_path, nargs="+", metavar="CHECKPOINT", help="a cross-encoder's folder or hub name"
    )
    arguments = parser.parse_args()
    main(arguments.port, arguments.checkpoints)
