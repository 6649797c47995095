"""Small checkpoints saved by transformers, with a tokenizer for any English text; and requests for them."""

import time
from pathlib import Path

import torch
import transformers

from core.text import tokenizer

SMALL = {
    "vocab_size": 400, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
TEXTS = ["the capital of France is Paris .", "walnut harbor quilt ember lantern fossil", "she poured the water"]
HEADS = {
    "masked": transformers.BertForMaskedLM,
    "label": transformers.BertForSequenceClassification,
    "tags": transformers.BertForTokenClassification,
    "answer": transformers.BertForQuestionAnswering,
    "none": transformers.BertModel,
}


def bert(folder: Path, form: str = "none", **changes) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    return _save(HEADS[form](transformers.BertConfig(**{**SMALL, **changes})), folder, "wordpiece")


def gpt2(folder: Path) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=400, n_embd=32, n_layer=2, n_head=4, bos_token_id=2, eos_token_id=2)
    return _save(transformers.GPT2LMHeadModel(config), folder, "bytes")


def t5(folder: Path) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=400, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    return _save(transformers.T5ForConditionalGeneration(config), folder, "unigram")


def _save(model: transformers.PreTrainedModel, folder: Path, algorithm: str) -> transformers.PreTrainedModel:
    model.eval().save_pretrained(folder)
    tokenizer.train_tokenizer(algorithm, TEXTS * 3, 380).save(folder)
    return model


def post(client, path, **body):
    return client.post(f"/api/{path}", json=body).json()


def wait_for(client, name, status="ready"):
    for _ in range(400):
        answer = post(client, "checkpoints/about", name=name)
        if answer["status"] == status:
            return answer
        time.sleep(0.05)
    raise AssertionError(answer)
