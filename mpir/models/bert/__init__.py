"""BERT and its relatives without transformers, whose import takes longer than the rest of a short run.

`checkpoint` and `tokenizer` read a plain BERT from its files; `bert` has its layers and their forward pass, through
which `unpadded` also runs relatives that transformers loads (`adapters`).
"""
