"""The English–Chinese grammar: two thousand pairs of templates whose word order differs as in the languages.

English: who – does – what – where – when. Chinese: who – when – where – does – what; relative clauses stand before
their noun. Each word is linked to those it translates; 了, and the 里 of 在 … 里, follow from the Chinese words before
them and have no link.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.grammar.templates import Grammar, Template

Pair = tuple[str, str]  # the same in English and Chinese

# fmt: off
SUBJECTS: list[Pair] = [
    ("{person1.en}", "{person1.zh}"),
    ("the {role1.en}", "{role1.zh}"),
    ("this@this {role1.en}", "这@this {role1.measure} {role1.zh}"),
    ("{pron1.en}", "{pron1.zh}"),
    ("{person1.en} and@and {person2.en}", "{person1.zh} 和@and {person2.zh}"),
    ("the {role1.en} who@who {meet1.past} {person2.en}", "{meet1.zh} {person2.zh} 的@who {role1.zh}"),
]
OBJECTS: list[Pair] = [
    ("the {thing1.en}", "{thing1.zh}"),
    ("{number1.en} {thing1.plural}", "{number1.zh} {thing1.measure} {thing1.zh}"),
    ("{adj1.art}@one {adj1.en} {thing1.en}", "一@one {thing1.measure} {adj1.zh} 的@adj1 {thing1.zh}"),
    ("{person3.en} 's@of {thing1.en}", "{person3.zh} 的@of {thing1.zh}"),
    ("the {thing1.en} that@that {person3.en} {do2.past}", "{person3.zh} {do2.zh} 的@that {thing1.zh}"),
]
NOTHING: Pair = ("", "")
PAST: list[Pair] = [NOTHING, ("{ago1.en}", "{ago1.zh}"), ("on@day1 {day1.en}", "{day1.zh}")]
FUTURE: list[Pair] = [NOTHING, ("{later1.en}", "{later1.zh}"), ("on@day1 {day1.en}", "{day1.zh}")]
PLACES: list[Pair] = [NOTHING, ("in@at the {place1.en}", "在@at {place1.zh} 里")]
COMPANY: list[Pair] = [NOTHING, ("with@with {person4.en}", "和@with {person4.zh}")]
MANNERS: list[Pair] = [NOTHING, ("{manner1.en}", "{manner1.zh}")]

# s subject, o object, p place, t time, verb (base, past; Chinese V); lower case English, upper case Chinese
STATEMENTS: list[Pair] = [
    ("{s} {past} {o} {p} {t} .@end", "{S} {T} {P} {V} 了 {O} 。@end"),
    ("{s} did@not not@not {base} {o} {p} {t} .@end", "{S} {T} 没有@not {P} {V} {O} 。@end"),
    ("did {s} {base} {o} {p} {t} ?@end", "{S} {T} {P} {V} 了 {O} 吗@end ？@end"),
    ("where@where did {s} {base} {o} {t} ?@end", "{S} {T} 在@where 哪里@where {V} 了 {O} ？@end"),
    ("when@when did {s} {base} {o} {p} ?@end", "{S} 什么时候@when {P} {V} 了 {O} ？@end"),
    ("who@whom {past} {o} {p} {t} ?@end", "谁@whom {T} {P} {V} 了 {O} ？@end"),
]
PREDICTIONS: list[Pair] = [
    ("{s} will@will {base} {o} {p} {t} .@end", "{S} {T} 会@will {P} {V} {O} 。@end"),
    ("{s} will@will not@not {base} {o} {p} {t} .@end", "{S} {T} 不@not 会@will {P} {V} {O} 。@end"),
    ("will@will {s} {base} {o} {p} {t} ?@end", "{S} {T} 会@will {P} {V} {O} 吗@end ？@end"),
]
WHAT: list[Pair] = [
    ("what@what did {s} {base} {p} {t} ?@end", "{S} {T} {P} {V} 了 什么@what ？@end"),
    ("what@what will@will {s} {base} {p} {t} ?@end", "{S} {T} 会@will {P} {V} 什么@what ？@end"),
]
OTHERS: list[Pair] = [
    ("{person1.en} is@is {compare1.en} than@is {person2.en} .@end", "{person1.zh} 比@is {person2.zh} {compare1.zh} 。@end"),
    ("is@is {person1.en} {compare1.en} than@is {person2.en} ?@end", "{person1.zh} 比@is {person2.zh} {compare1.zh} 吗@end ？@end"),
    ("the {role1.en} is@is {compare1.en} than@is {person2.en} .@end", "{role1.zh} 比@is {person2.zh} {compare1.zh} 。@end"),
    ("the {thing1.en} is@is on@on the {surface1.en} .@end", "{thing1.zh} 在@is {surface1.zh} 上@on 。@end"),
    ("is@is the {thing1.en} on@on the {surface1.en} ?@end", "{thing1.zh} 在@is {surface1.zh} 上@on 吗@end ？@end"),
    ("there@is is@is {thing1.art}@one {thing1.en} on@on the {surface1.en} .@end", "{surface1.zh} 上@on 有@is 一@one {thing1.measure} {thing1.zh} 。@end"),
    ("there@is are@is {number1.en} {thing1.plural} in@at the {place1.en} .@end", "{place1.zh} 里@at 有@is {number1.zh} {thing1.measure} {thing1.zh} 。@end"),
    ("is@is there@is {thing1.art}@one {thing1.en} in@at the {place1.en} ?@end", "{place1.zh} 里@at 有@is 一@one {thing1.measure} {thing1.zh} 吗@end ？@end"),
    ("{person1.en} {act1.past} because@why {person2.en} {act2.past} .@end", "因为@why {person2.zh} {act2.zh} 了 ， 所以@why {person1.zh} {act1.zh} 了 。@end"),
    ("{person1.en} {act1.past} because@why {person2.en} {do1.past} the {thing1.en} .@end", "因为@why {person2.zh} {do1.zh} 了 {thing1.zh} ， 所以@why {person1.zh} {act1.zh} 了 。@end"),
    ("the {role1.en} {do1.past} the {thing1.en} because@why {person1.en} {act1.past} .@end", "因为@why {person1.zh} {act1.zh} 了 ， 所以@why {role1.zh} {do1.zh} 了 {thing1.zh} 。@end"),
    ("{person1.en} {act1.past} before@before {person2.en} {act2.past} .@end", "在@before {person2.zh} {act2.zh} 之前@before {person1.zh} {act1.zh} 了 。@end"),
]
# fmt: on


def clauses(
    verb: str, frames: list[Pair], subjects: list[Pair], objects: list[Pair], places: list[Pair], times: list[Pair]
) -> list[Pair]:
    """Every frame with every combination of its parts; a part that a frame does not have makes no difference."""
    pairs: dict[Pair, None] = {}  # a set that keeps its order
    parts = dict(base=f"{{{verb}1.en}}", past=f"{{{verb}1.past}}", V=f"{{{verb}1.zh}}")
    for (en, zh), s, o, p, t in product(frames, subjects, objects, places, times):
        phrases = dict(parts, s=s[0], S=s[1], o=o[0], O=o[1], p=p[0], P=p[1], t=t[0], T=t[1])
        pairs[en.format(**phrases), zh.format(**phrases)] = None
    return list(pairs)


def pattern_groups() -> list[list[Pair]]:
    people: list[Pair] = [("{person3.en}", "{person3.zh}")]
    adverbials = [(f"{m[0]} {p[0]} {c[0]}", f"{c[1]} {p[1]} {m[1]}") for c, p, m in product(COMPANY, PLACES, MANNERS)]
    ditransitive: list[Pair] = []
    for s, t in product(SUBJECTS, PAST):
        for o in OBJECTS[1:3]:
            ditransitive.append(
                (
                    f"{s[0]} gave@give {{person3.en}} {o[0]} {t[0]} .@end",
                    f"{s[1]} {t[1]} 给@give 了 {{person3.zh}} {o[1]} 。@end",
                )
            )
        ditransitive.append(
            (f"{s[0]} gave@give the {{thing1.en}} to@to {{person3.en}} {t[0]} .@end", f"{s[1]} {t[1]} 把@to {{thing1.zh}} 给@give 了 {{person3.zh}} 。@end")
        )  # fmt: skip
    fronted_time = [(f"{{ago1.en}} ,@comma {en}", f"{{ago1.zh}} ，@comma {zh}") for en, zh in clauses("do", STATEMENTS[:1], SUBJECTS, OBJECTS, PLACES, [NOTHING])]  # fmt: skip
    return [
        *(clauses("do", [frame], SUBJECTS, OBJECTS, PLACES, PAST) for frame in STATEMENTS),
        *(clauses("do", [frame], SUBJECTS, OBJECTS, PLACES, FUTURE) for frame in PREDICTIONS),
        clauses("do", WHAT, SUBJECTS, [NOTHING], PLACES, [NOTHING]),
        *(clauses("act", [frame], SUBJECTS, [NOTHING], adverbials, PAST) for frame in STATEMENTS[:4]),
        clauses("act", PREDICTIONS, SUBJECTS, [NOTHING], adverbials, FUTURE),
        clauses("meet", STATEMENTS[:3], SUBJECTS[:5], people, PLACES, PAST),
        ditransitive,
        fronted_time,
        *([pair] for pair in OTHERS),
    ]


@lru_cache(maxsize=1)
def bilingual_grammar(special: tuple[str, ...]) -> Grammar:
    """All patterns; every group of them is equally frequent."""
    templates = [
        Template({"en": en, "zh": zh}, weight=1 / len(group)) for group in pattern_groups() for en, zh in group
    ]  # fmt: skip
    return Grammar(LEXICON, templates, special)
