"""Score columns: sets of several queries as one."""

import numpy as np

from mpir.core.columns import Column, Columns, Layout


def test_sets_are_stacked_whatever_the_order_of_their_columns() -> None:
    def columns(documents: list[str], values: list[float]) -> Columns:
        layout = Layout(tuple(Column(name, "document") for name in documents))
        return Columns(
            layout=layout,
            documents=np.array([values]),
            sentences=np.zeros((0, 0)),
            query_of=np.zeros(1, np.int64),
            document_of=np.zeros(0, np.int64),
        )

    stacked = Columns.stack([columns(["a", "b"], [1.0, 2.0]), columns(["b", "a"], [4.0, 3.0])])
    assert stacked.layout.documents == ("a", "b")
    assert stacked.documents.tolist() == [[1.0, 2.0], [3.0, 4.0]]
