"""The words of the grammars: categories with their forms in English and Chinese, side by side."""

from __future__ import annotations

from core.tasks.language.grammar.templates import Lexicon


def rows(forms: str, *words: str) -> dict[str, list[str]]:
    """Forms by column: rows("en zh", "cat 猫", "dog 狗") → {"en": ["cat", "dog"], "zh": ["猫", "狗"]}"""
    columns = zip(*(word.split() for word in words), strict=True)
    return {form: list(column) for form, column in zip(forms.split(), columns, strict=True)}


# fmt: off
LEXICON: Lexicon = {
    "person": rows("en zh",
        "Anna 安娜", "Ben 班恩", "Carl 卡尔", "Diana 黛安娜", "Emma 艾玛", "Frank 弗兰克", "Grace 格蕾丝", "Henry 亨利",
        "Iris 艾丽斯", "Jack 杰克", "Kate 凯特", "Leo 利奥", "Mary 玛丽", "Nick 尼克", "Olga 奥尔加", "Peter 彼得"),
    "pron": rows("en zh", "I 我", "you 你", "he 他", "she 她", "we 我们", "they 他们"),
    "role": rows("en zh measure",
        "teacher 老师 位", "doctor 医生 位", "student 学生 个", "farmer 农民 个", "driver 司机 位", "child 孩子 个",
        "writer 作家 位", "nurse 护士 位", "cook 厨师 位", "neighbour 邻居 个"),
    "thing": rows("en plural art zh measure",
        "book books a 书 本", "car cars a 汽车 辆", "pen pens a 钢笔 支", "chair chairs a 椅子 把",
        "picture pictures a 画 幅", "hat hats a 帽子 顶", "shirt shirts a 衬衫 件", "letter letters a 信 封",
        "map maps a 地图 张", "umbrella umbrellas an 雨伞 把", "bicycle bicycles a 自行车 辆", "cat cats a 猫 只",
        "dog dogs a 狗 只", "apple apples an 苹果 个", "knife knives a 刀 把", "lamp lamps a 灯 盏",
        "watch watches a 手表 块", "flower flowers a 花 朵", "coat coats a 外套 件", "egg eggs an 鸡蛋 个"),
    "adj": rows("en art zh",
        "red a 红色", "new a 崭新", "old an 古老", "big a 巨大", "small a 小巧", "expensive an 昂贵", "beautiful a 美丽",
        "blue a 蓝色", "ugly an 丑陋", "cheap a 便宜"),
    "number": rows("en zh", "two 两", "three 三", "four 四", "five 五", "six 六", "seven 七", "ten 十"),
    "do": rows("en past zh",
        "buy bought 买", "sell sold 卖", "find found 找到", "lose lost 弄丢", "see saw 看见", "bring brought 带来",
        "borrow borrowed 借", "draw drew 画", "hide hid 藏", "steal stole 偷", "touch touched 摸", "choose chose 选择"),
    "act": rows("en past zh",
        "sleep slept 睡觉", "work worked 工作", "sing sang 唱歌", "dance danced 跳舞", "swim swam 游泳", "wait waited 等待",
        "laugh laughed 大笑", "cry cried 哭", "rest rested 休息", "eat ate 吃饭"),
    "meet": rows("en past zh",
        "meet met 遇见", "help helped 帮助", "thank thanked 感谢", "invite invited 邀请", "visit visited 拜访",
        "call called 叫", "follow followed 跟随", "paint painted 描绘"),
    "place": rows("en zh",
        "park 公园", "garden 花园", "school 学校", "library 图书馆", "kitchen 厨房", "station 车站", "office 办公室",
        "museum 博物馆", "market 市场", "hotel 旅馆"),
    "surface": rows("en zh", "table 桌子", "bed 床", "shelf 架子", "floor 地板", "sofa 沙发", "bench 长凳"),
    "ago": rows("en zh", "yesterday 昨天", "recently 最近", "earlier 早些时候"),
    "later": rows("en zh", "tomorrow 明天", "tonight 今晚", "soon 不久"),
    "day": rows("en zh",
        "Monday 星期一", "Tuesday 星期二", "Wednesday 星期三", "Thursday 星期四", "Friday 星期五", "Saturday 星期六",
        "Sunday 星期天"),
    "manner": rows("en zh",
        "slowly 慢慢地", "quickly 很快地", "quietly 安静地", "happily 高兴地", "carefully 小心地", "secretly 偷偷地"),
    "modal": rows("en", "will", "can", "must", "should", "may"),
    "compare": rows("en zh", "taller 高", "older 老", "younger 年轻", "stronger 强壮", "faster 快", "richer 富有", "busier 忙"),

    # Ambiguous names: only the context says whether Paris is a person or a place.
    "given": rows("en",
        "Paris", "Jordan", "May", "April", "June", "Austin", "Florence", "Chelsea", "Sydney", "Anna", "Ben", "Carl"),
    "family": rows("en", "Ford", "Washington", "Lincoln", "Jordan", "Disney", "Houston", "London", "Smith", "Brown", "Cooper"),
    "city": rows("en",
        "Paris", "Jordan", "Austin", "Florence", "Chelsea", "Sydney", "Washington", "Houston", "London", "Lincoln", "Rome",
        "Oslo", "Amazon"),
    "twocity": rows("en second", "New York", "San Diego", "Los Angeles", "New Orleans", "Cape Town", "Fort Lincoln"),
    "firm": rows("en",
        "Ford", "Disney", "Amazon", "Lincoln", "Chelsea", "Orange", "Smith", "Shell", "Target", "Cooper", "Oracle", "Apple"),
    "month": rows("en",
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December"),
    "dom": rows("en", *(str(i) for i in range(1, 29))),
    "year": rows("en", *(str(i) for i in range(1990, 2030))),
}
# fmt: on
