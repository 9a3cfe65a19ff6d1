#!/usr/bin/env bash
# The table of published rerankers on four collections, for a machine with a GPU that reaches a hub:
#   benchmarks/published_models.sh OUTPUT [BIOASQ]
# BIOASQ is a folder with corpus.jsonl, queries.jsonl, test.qrels and perhaps bm25.trec, since BioASQ's data may not be
# passed on. Without it three collections are measured. Each model is measured with the options that its card asks for.
set -euo pipefail
output=${1:?give a folder for the results}; bioasq=${2:-}
models=(ncbi/MedCPT-Cross-Encoder BAAI/bge-reranker-v2-m3 mixedbread-ai/mxbai-rerank-base-v2
        cross-encoder/ettin-reranker-150m-v1 Qwen/Qwen3-Reranker-0.6B)
arguments=(); for model in "${models[@]}"; do arguments+=(--model "$model"); done
pip install 'mpir[benchmark]'
mpir benchmark --dataset beir/scifact/test --dataset beir/nfcorpus/test --dataset beir/trec-covid \
    "${arguments[@]}" --output "$output/ir_datasets"
if [ -n "$bioasq" ]; then
    run=(); [ -f "$bioasq/bm25.trec" ] && run=(--run "$bioasq/bm25.trec")
    mpir benchmark --corpus "$bioasq/corpus.jsonl" --queries "$bioasq/queries.jsonl" --qrels "$bioasq/test.qrels" \
        "${run[@]}" "${arguments[@]}" --output "$output/bioasq"
fi
