"""Modules by their names of 0.1: they import, warn at the importing line, and are the modules of now."""

import importlib
import sys
import warnings

import pytest

import mpir
from mpir.moved import MOVED, install


@pytest.mark.parametrize("name", sorted(MOVED))
def test_a_renamed_module_imports_with_a_warning(name: str) -> None:
    sys.modules.pop(f"mpir.{name}", None)
    with pytest.warns(DeprecationWarning, match=rf"mpir\.{name} is mpir\."):
        module = importlib.import_module(f"mpir.{name}")
    for home in MOVED[name]:
        current = importlib.import_module(f"mpir.{home}")
        public = [key for key in vars(current) if not key.startswith("_")]
        assert public and all(hasattr(module, key) for key in public)


def test_names_are_the_same_objects_and_the_warning_names_the_line() -> None:
    sys.modules.pop("mpir.corpora.texts", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from mpir.corpora.texts import Texts, read_queries  # type: ignore[import-not-found]
    from mpir.corpora import queries, text_store

    assert (Texts, read_queries) == (text_store.Texts, queries.read_queries)
    (warning,) = [item for item in caught if item.category is DeprecationWarning]
    assert warning.filename == __file__


def test_no_module_is_hidden_and_the_finder_is_there_once() -> None:
    install()
    install()
    assert sum(type(finder).__name__ == "MovedModules" for finder in sys.meta_path) == 1
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mpir.corpora.never")
    assert mpir.__version__
