"""Make a tiny untrained causal language model, to try `mpir data sia --writer` without access to a hub.

    python data_scripts/tiny_writer.py mpir/sample/documents.jsonl --output runs/sia/tiny-gpt2

OUTPUT has a GPT-2 of two layers with random weights, and a byte-level tokenizer trained on the corpus. Fine-tuned on a
few rows it memorises these: enough to try each step, but useless for making data.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.files.corpora import read_corpus
from mpir.files.folder_format import CHECKPOINT
from mpir.files.output_checks import Output, check_outputs
from mpir.files.write import atomic_folder

END = "<|endoftext|>"
SHAPE = {"n_positions": 192, "n_embd": 128, "n_layer": 2, "n_head": 4}


def main() -> int:
    """Make the model, and print its size."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "corpus", type=text_path, nargs="+", metavar="PATH", help="corpus file or folder, for the tokenizer"
    )
    parser.add_argument("--output", type=file_path, required=True, metavar="DIR", help="folder for the checkpoint")
    parser.add_argument("--vocabulary", type=int, default=4000, help="tokens (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # saving is fast
    return guarded("tiny_writer", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job, from arguments to exit status."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    check_outputs([Output("--output", arguments.output, CHECKPOINT)], [("PATH", path) for path in arguments.corpus])
    tokenizer = make_tokenizer(arguments.corpus, arguments.vocabulary)
    torch.manual_seed(arguments.seed)
    config = GPT2Config(vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=0, **SHAPE)
    with atomic_folder(arguments.output, CHECKPOINT) as temporary:
        GPT2LMHeadModel(config).save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    print(f"{arguments.output}: a random GPT-2 with {len(tokenizer):,} tokens, for demonstration only.")
    return 0


def make_tokenizer(paths: list[str], size: int) -> Any:
    """Train a byte-level tokenizer like GPT-2's on a corpus."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    bytes_tokenizer = ByteLevelBPETokenizer()
    texts = (text for document in read_corpus(paths) for text in document.sections.values())
    bytes_tokenizer.train_from_iterator(texts, size, special_tokens=[END], show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=bytes_tokenizer._tokenizer, bos_token=END, eos_token=END)


if __name__ == "__main__":
    sys.exit(main())
