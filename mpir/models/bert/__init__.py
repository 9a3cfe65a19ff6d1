"""BERT and its relatives without transformers, whose import takes longer than the rest of a short run.

`checkpoint`, `network` and `tokenizer` read a plain BERT from its files. `unpadded` is the forward pass of BERT and of
the relatives that transformers loads (`distilbert`, `mpnet`, `roberta`).
"""
