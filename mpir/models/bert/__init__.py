"""BERT and its relatives without transformers, whose import takes longer than all else that a short run does.

`checkpoint`, `network` and `tokenizer` read a plain BERT from its files. `unpadded` is its forward pass, and that of
the relatives that transformers loads (`distilbert`, `mpnet`, `roberta`).
"""
