"""What families, tasks and recipes are called on the Train tab, in both languages."""

from __future__ import annotations

from core import Text

FAMILIES = {
    "rnn": "RNN",
    "gru": "GRU",
    "lstm": "LSTM",
    "seq2seq": "Seq2Seq",
    "transformer": "Transformer",
    "bert": "BERT",
    "roformer": "RoFormer",
    "gpt": "GPT",
    "t5": "T5",
}
TASKS = {
    "parity": "奇偶",
    "running parity": "累计奇偶",
    "scratchpad parity": "草稿奇偶",
    "copy": "复制",
    "reverse": "反转",
    "sort": "排序",
    "induction": "归纳",
    "recall": "回忆",
    "addition": "加法",
    "modular addition": "模加法",
    "brackets": "括号匹配",
    "dates": "日期",
    "translation": "翻译",
    "characters": "字符",
    "masked words": "遮词填空",
    "next sentence": "承接判断",
    "entities": "实体",
    "sentence classes": "句子分类",
    "questions": "问答",
    "nested names": "嵌套实体",
    "own text": "自己的文本",
    "own pairs": "自己的文本对",
    "own labels": "自己的分类",
    "own tags": "自己的标注",
}
VARIANTS = {
    "default": ("as recommended", "推荐配方"),
    "source": ("by heart: 2,000 fixed problems", "死记：2000 道固定题"),
    "too-fast": ("learning rate too high", "学习率过高"),
    "learned": ("learned positions", "可学习位置"),
    "t5": ("T5 positions", "T5 位置"),
    "sinusoidal": ("sinusoidal positions", "正弦位置"),
    "alibi": ("ALiBi positions", "ALiBi 位置"),
    "any-length": ("any length", "任意长度"),
    "cheats": ("no causal mask", "没有因果掩码"),
    "luong": ("Luong attention", "Luong 注意力"),
    "luong-dot": ("Luong attention, dot", "Luong 注意力（点积）"),
    "luong-general": ("Luong attention, general", "Luong 注意力（双线性）"),
    "luong-concat": ("Luong attention, concat", "Luong 注意力（拼接）"),
    "no-attention": ("no attention, short", "无注意力，短序列"),
    "no-attention-long": ("no attention, long", "无注意力，长序列"),
    "forgets": ("forget gates shut", "遗忘门关闭"),
    "no-positions": ("no positions", "没有位置信息"),
    "distinct": ("no symbol twice", "符号不重复"),
    "one-layer": ("one layer", "只有一层"),
    "four-heads": ("four heads", "四个头"),
    "crf": ("with a CRF", "带 CRF"),
    "few": ("50 sentences", "50 个句子"),
    "few-crf": ("50 sentences, with a CRF", "50 个句子，带 CRF"),
}


def family_title(name: str) -> str:
    return FAMILIES.get(name, name)


def task_title(name: str) -> Text:
    return Text(name, TASKS.get(name, name))


def variant_title(name: str) -> Text:
    return Text(*VARIANTS.get(name, (name, name)))
