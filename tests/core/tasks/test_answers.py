"""Answers, recomputed here in another way; and the majority baseline."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
import torch

import core
from core.layers.task_heads.heads import IGNORE
from core.tasks import tasks
from core.tasks.language.sentence_classes import LABELS
from core.tasks.layouts import decode_spans

N = 400


def random_problems(task):
    """(source ids, target) of many problems, without padding."""
    examples = task.draw(N, torch.Generator().manual_seed(7))
    for i in range(N):
        source = examples.source[i, : examples.source_lengths[i]].tolist()
        target = examples.target[i].tolist()
        yield source, target if examples.target_lengths is None else target[: examples.target_lengths[i]]


def test_parity():
    task = core.task("parity", n_symbols=5)
    for source, target in random_problems(task):
        assert target == sum(map(int, task.show(source))) % 2 == task.solve(source)


def test_parity_tags_are_the_running_parity():
    task = core.task("parity")
    batch = task.batch(8, torch.Generator().manual_seed(0), "tags")
    for ids, tags, length in zip(*(x.tolist() for x in (batch.inputs[0], batch.target, batch.lengths)), strict=True):
        assert tags[:length] == [sum(ids[: i + 1]) % 2 for i in range(length)]
        assert set(tags[length:]) <= {IGNORE}


@pytest.mark.parametrize(("name", "answer"), [("copy", list), ("reverse", lambda s: s[::-1]), ("sort", sorted)])
def test_copying(name, answer):
    task = core.task(name)
    for source, target in random_problems(task):
        assert target == answer(source) == task.solve(source)


def test_recall():
    task = core.task("recall")
    for source, target in random_problems(task):
        words = task.show(source)
        assert words[0] == str(task.label_names[target]) and words[-1] == "?"
        assert all(word[0] == "d" and word[1:].isdigit() for word in words[1:-1])
        assert task.solve(source) == target


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("digits", [1, 4, 25])
def test_addition(backwards, digits):
    task = core.task("addition", min_len=1, max_len=digits, backwards=backwards)
    for source, target in random_problems(task):
        a, b = task.say(source).split("+")
        assert str(int(a)) == a and str(int(b)) == b
        answer = str(int(a) + int(b))
        assert task.say(target) == (answer[::-1] if backwards else answer)
        assert task.solve(source) == target


def test_modular_addition():
    task = core.task("modular addition", modulus=17)
    for source, target in random_problems(task):
        assert eval(task.say(source).rstrip("= ")) % 17 == target == task.solve(source)


@pytest.mark.parametrize(("kinds", "depth"), [(1, 1), (1, 5), (3, 4), (4, 2)])
def test_brackets(kinds, depth):
    task = core.task("brackets", n_kinds=kinds, max_depth=depth, max_len=24)
    balanced = []
    for source, target in random_problems(task):
        text, count = task.say(source), 0
        opening = [text.count(pair[0]) for pair in ("()", "[]", "{}", "<>")]
        assert opening == [text.count(pair[1]) for pair in ("()", "[]", "{}", "<>")], "counting must not help"
        deepest = max(count := count + (1 if c in "([{<" else -1) for c in text)
        while (shorter := re.sub(r"\(\)|\[\]|\{\}|<>", "", text)) != text:
            text = shorter
        assert target == (text == "") == task.solve(source)
        assert not target or deepest <= depth
        balanced.append(target)
    assert abs(sum(balanced) / N - 0.5) < 0.08


def test_few_broken_brackets_are_locally_visible():
    """An opening bracket next to another kind's closing one, or a wrong end: neither needs memory."""
    task, local, broken = core.task("brackets"), 0, 0
    for source, target in random_problems(task):
        text = task.say(source)
        broken += not target
        pairs = re.findall(r"(?=([(\[{][)\]}]))", text)
        local += any(pair not in ("()", "[]", "{}") for pair in pairs) or text[0] in ")]}" or text[-1] in "([{"
    assert local < 0.5 * broken


def test_dates():
    forms = [
        "%d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%m/%d/%Y", "%Y年%m月%d日", "%A, %d %B %Y", "%b %d %Y", "%d-%b-%Y",
        "the %d of %B %Y", "%Y/%m/%d", "%A, %b %d %Y",
    ]  # fmt: skip
    task = core.task("dates")
    for source, target in random_problems(task):
        text = re.sub(r"(?<=\d)(st|nd|rd|th)", "", task.say(source))
        dates = set()
        for form in forms:
            try:
                dates.add(datetime.strptime(text, form).date().isoformat())
            except ValueError:
                continue
        assert dates == {task.say(target)} and task.solve(source) == target


def test_entities_and_sentence_classes_have_one_answer_each():
    for name in ("entities", "sentence classes", "questions", "nested names", "translation"):
        task, answers = core.task(name), {}
        for source, target in random_problems(task):
            assert answers.setdefault(tuple(source), target) == target
            answer = task.solve(source)
            assert answer == (target[: len(source)] if name == "entities" else target)


def test_the_same_word_is_tagged_by_its_neighbours():
    task = core.task("entities")
    names = [str(name) for name in task.label_names]
    tags_of: dict[str, set[str]] = {}
    for source, tags in random_problems(task):
        for word, tag in zip(task.show(source), tags, strict=False):
            tags_of.setdefault(word, set()).add(names[tag])
    assert {"B-PER", "B-LOC"} <= tags_of["Paris"] and {"B-PER", "B-DATE"} <= tags_of["May"]
    assert {"B-ORG"} < tags_of["Ford"]
    for source, tags in random_problems(task):  # an inside tag always goes on from its own kind
        tag_names = [names[tag] for tag in tags[: len(source)]]
        for before, tag in zip(["O", *tag_names], tag_names, strict=False):
            assert tag[0] != "I" or before[2:] == tag[2:]


def test_sentence_classes_by_word_order():
    task = core.task("sentence classes")
    modals = {"did", "will", "can", "must", "should", "may"}
    for source, label in random_problems(task):
        words = task.show(source)
        main = " ".join(words).split(" that ")[0].split()  # without a relative clause
        if words[0] in modals or words[0] == "who":
            expected = "question"
        elif words[0] in ("do", "please", "never", "let") or words[0] in task.grammar.lexicon["do"]["en"]:
            expected = "command"
        else:
            expected = "negation" if {"not", "never"} & set(main) else "statement"
        assert str(LABELS[label]) == expected


def test_a_sentence_follows_that_is_about_the_same_person_and_thing():
    task = core.task("next sentence")
    lexicon = task.grammar.lexicon
    labels = []
    for source, label in random_problems(task):
        first, second, _ = " ".join(task.show(source)).split(" [SEP]")
        for kind in ("person", "thing"):
            names = [set(lexicon[kind]["en"]) & set(sentence.split()) for sentence in (first, second)]
            assert list(map(len, names)) == [1, 1] and (names[0] == names[1]) == bool(label)
        assert task.solve(source) == label
        labels.append(label)
    assert 0.4 < sum(labels) / len(labels) < 0.6


def test_questions_point_at_their_answers():
    task = core.task("questions", n_facts=3)
    for source, (start, end) in random_problems(task):
        words = task.show(source)
        question_word, answer = words[0], words[start : end + 1]
        cut = words.index("[SEP]")
        fact = next(f for f in " ".join(words[cut + 1 :]).split(" . ") if " ".join(answer) in f)
        names = {w for w in words[:cut] if w[0].isupper()} | (
            {words[cut - 2]} & set(task.grammar.lexicon["thing"]["en"])
        )
        assert start > cut and names <= set(fact.split())
        length = {"who": 1, "whom": 1, "where": 3, "when": 2, "what": 3}[question_word]
        assert len(answer) == length
        assert answer[0] == {"where": "in", "when": "on"}.get(question_word, answer[0])


def test_nested_names():
    task = core.task("nested names", max_depth=3)
    deepest = 0
    examples = task.draw(N, torch.Generator().manual_seed(0))
    for row, numbers in zip(examples.source.tolist(), examples.target, strict=True):
        words = task.show([i for i in row if i])
        spans = list(zip(*(x.tolist() for x in decode_spans(numbers[numbers > 0])), strict=True))
        for kind, start, end in spans:
            first = {0: ("head", "mayor", "brother"), 1: ("north", "old"), 2: ("bank", "university")}[kind]
            assert words[start] != "the" or words[start + 1] in first
            depth = sum(a <= start and end <= b for _, a, b in spans)
            deepest = max(deepest, depth)
            assert all(
                b < start or end < a or (a <= start and end <= b) or (start <= a and b <= end) for _, a, b in spans
            )
    assert deepest == 3


def test_translation_examples():
    task = core.task("translation")
    for english, chinese in {
        "Anna bought the book.": "安娜买了书。",
        "Did Anna buy two books in the park yesterday?": "安娜昨天在公园里买了两本书吗？",
        "the teacher who helped Ben found the cat that Anna lost.": "帮助班恩的老师找到了安娜弄丢的猫。",
        "there is an egg on the table.": "桌子上有一个鸡蛋。",
        "Ben is taller than Kate.": "班恩比凯特高。",
        "Ben gave the knife to Kate on Monday.": "班恩星期一把刀给了凯特。",
        "what did she steal?": "她偷了什么？",
        "Leo slept because Anna sang.": "因为安娜唱歌了，所以利奥睡觉了。",
        "we will not work tomorrow.": "我们明天不会工作。",
    }.items():
        assert task.say(task.solve(task.read(english))) == chinese
    assert len({tuple(row) for row in task.draw(20_000, torch.Generator()).source.tolist()}) > 15_000


@pytest.mark.parametrize("name", tasks())
def test_chance_is_the_accuracy_of_the_majority_baseline(name):
    """The most frequent answer at each position, on fresh problems, is as good as `chance` says, and no better."""
    task = core.task(name)
    form = task.forms[0]
    batch = task.batch(3000, torch.Generator().manual_seed(99), form)
    if form == "spans":
        guess = torch.zeros_like(batch.target)
        best = 0.0
        for span in batch.target.float().mean(0).flatten().argsort(descending=True)[:8].tolist():
            guess.flatten(1)[:, span] = True
            best = max(best, float((guess & batch.target).sum() / (guess | batch.target).sum()))
    else:
        columns = batch.target.unbind(1) if batch.target.dim() == 2 else [batch.target]
        targets = [column[column != IGNORE] for column in columns]
        correct = sum(int((column == column.mode().values).sum()) for column in targets if len(column))
        best = correct / sum(map(len, targets))
    assert abs(best - task.chance) < 0.02
