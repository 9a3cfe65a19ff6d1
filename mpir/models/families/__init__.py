"""Families of other people's models, one module or folder each, found by being here (models/recognition/recognise.py).

A family's module has its `FAMILY` (models/recognition/model_family.py), and imports neither torch nor another family.
What only the family uses stands in its folder, in modules whose names begin with an underscore. A package adds a family
by an entry point of ``mpir.families``.
"""
