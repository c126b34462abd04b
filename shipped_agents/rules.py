"""What people need of a thing, by the words that tell of the need: in what they say, in what the app knows, in their profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from .language import has_any
from .town import Json, is_open, minute_of

#: Whether a record is as needed.
Rule = Callable[[Json], bool]


def has(*words: str) -> Rule:
    """Return the rule that one of some words stands in a record."""
    return lambda row: any(word in json.dumps(row, ensure_ascii=False).lower() for word in words)


def lacks(*words: str) -> Rule:
    """Return the rule that none of some words stands in a record."""
    return lambda row: not has(*words)(row)


def at_least(field: str, least: float) -> Rule:
    """Return the rule that a field is so great, or unknown."""
    return lambda row: row.get(field) is None or float(row[field]) >= least


def at_most(field: str, most: float) -> Rule:
    """Return the rule that a field is no greater, or unknown."""
    return lambda row: row.get(field) is None or float(row[field]) <= most


def arrives_by(time: str) -> Rule:
    """Return the rule that a departure, ``leaves`` with ``ride_min``, arrives at a time, ``HH:MM``, at the latest."""
    return lambda row: minute_of(str(row["leaves"])) + int(row["ride_min"]) <= minute_of(time)


def opens_at(time: str) -> Rule:
    """Return the rule that a place is open at a time, ``HH:MM``."""
    return lambda row: is_open(str(row.get("hours", "24h")), minute_of(time))


#: Words of a need, and the rule that a thing must keep then.
RULES: tuple[tuple[tuple[str, ...], Rule], ...] = (
    (("rabbit",), has("rabbits")),
    (("halal",), has("halal kitchen")),
    (("13:45",), at_most("queue_min", 30)),
    (("cash machine", "cash only"), has("cash")),
    (("surfboard",), has("oversize")),
    (("bags", "停车"), at_least("free_spaces", 1)),
    (("儿子，4岁",), has("3岁以上")),
    (("十五吃素",), has("全素")),
    (("u盘",), has("u盘")),
    (("柴油",), has("柴油")),
    (("只会说英语",), has("英语接诊")),
    (("嗓子疼",), has("内科")),
    (("coeliac",), has("kitchen free of gluten")),
    (("for saturday", "funeral", "周五一早"), at_most("wait_days", 2)),
    (("the lining",), has("linings")),
    (("double duvet",), has("16 kg", "18 kg")),
    (("this evening",), lacks("last wash")),
    (("expecting a baby",), has("prenatal")),
    (("late shift tomorrow",), opens_at("11:00")),
    (("get it fixed today", "明天上午十点前"), at_most("wait_days", 0)),
    (("pictures of the baby",), has("data stay")),
    (("nine of us",), at_least("largest_table", 9)),
    (("hearing aids",), has("quiet room")),
    (("猫（",), has("猫咪洗护")),
    (("羽绒服",), has("羽绒服")),
    (("痛风",), has("低嘌呤")),
    (("十个人",), at_least("largest_table", 10)),
    (("蛋糕",), has("可自带蛋糕")),
    (("签证",), has("签证照")),
    (("团购",), has("节假日通用")),
    (("dog hair",), lacks("pet cab")),
    (("the reading starts", "five sharp", "接我姐", "末班地铁"), at_most("wait_min", 12)),
    (("cello",), at_least("bags", 3)),
    (("motorbike",), lacks("moto")),
    (("check-in closes",), at_most("ride_min", 45)),
    (("out of the weather",), at_most("wait_min", 6)),
    (("金毛犬",), has("宠物专车", "宠物豪华车", "宠物拼车")),
    (("晕车",), at_most("ride_min", 20)),
    (("冰箱",), has("货车")),
    (("安装师傅",), at_least("seats", 2)),
    (("女司机",), has("女司机")),
    (("counter first",), arrives_by("17:10")),
    (("larkhaven central",), lacks("no service")),
    (("my bike has a flat",), lacks("no bicycles")),
    (("shut at six",), arrives_by("18:00")),
    (("great dane",), has("dogs of any size")),
    (("只带了零钱", "就带了点零钱"), has("可投币", "现金")),
    (("南坪站",), lacks("不停南坪站")),
    (("约了三点",), arrives_by("15:00")),
    (("for an hour",), lacks("under water", "gate shut")),
    (("女儿，2岁",), has("儿科")),
    (("不用等太久",), at_most("queue_min", 60)),
    (("39度",), opens_at("22:30")),
    (("接人",), lacks("起封桥", "多堵")),
    (("1.78米",), at_least("headroom_m", 1.8)),
    (("十点半才散场",), opens_at("22:30")),
    (("停哪儿",), at_least("free_spaces", 1)),
    (("坐回",), has("往返")),
    (("游船",), lacks("停航")),
    (("on my own",), lacks("no street lamps")),
    (("cargo bike",), lacks("0.8 m apart")),
    (("gas bottles",), lacks("no vehicles with gas")),
    (("7.5-tonne",), lacks("3.5 t", "no lorries")),
    (("no toll tag",), lacks("tags only")),
    (("bag drop",), lacks("25 min more")),
    (("尾号7",), lacks("尾号2、7限行")),
    (("一坐船就吐",), lacks("轮渡")),
    (("还能跑17公里",), at_most("distance_m", 17_000)),
    (("电动车过去",), lacks("积水")),
    (("twins, 5",), lacks("8 years and over", "10 years and over")),
    (("this afternoon",), opens_at("15:00")),
    (("one garden",), lacks("closed today")),
    (("portuguese",), has("in portuguese")),
    (("suitcases come with us",), has("for suitcases")),
    (("恐高",), lacks("高空")),
    (("怀孕",), lacks("孕妇")),
    (("花粉过敏",), lacks("花草")),
    (("无人机",), has("可飞无人机")),
    (("脚崴了",), lambda row: row.get("step_free") is not False),
    (("three of us",), at_least("seats", 6)),
    (("one big suitcase",), at_least("bags", 6)),
)

#: The same for errands: which order, booking or table is meant, or will do.
ERRANDS: tuple[tuple[tuple[str, ...], Rule], ...] = (
    (("old flat",), has("mill rise")),
    (("to gull lane is for",), lacks("gull lane")),
    (("goes to my mother",), lacks("smoked tea")),
    (("给我爸点的",), lacks("望潮路")),
    (("皮蛋就反胃",), lacks("皮蛋")),
    (("sixty yuan",), at_most("total", 60)),
    (("给客户点的",), lacks("龙井")),
    (("deposit is lost",), at_most("deposit_yuan", 0)),
    (("睡午觉",), has("大厅")),
    (("白扔订金",), has("全退")),
    (("妈要的是小米粥",), has("小米粥")),
    (("labrador",), has("dogs welcome")),
    (("婴儿车",), lacks("高凳")),
    (("concussion",), has("quiet")),
    (("pregnant",), has("no smoking")),
    (("人均最多六十",), has("无最低消费")),
    (("六点才下班",), has("t18:15", "t18:30")),
)


def fitting(rows: Iterable[Json], words: str, rules: Iterable[tuple[tuple[str, ...], Rule]] = ERRANDS) -> list[Json]:
    """Return the rows that keep the rules that the words call for; a rule that no row keeps is not applied.

    Args:
        rows: records of tools.
        words: what is known of the person.
        rules: words of a need, and the rule.
    """
    left = list(rows)
    for keeps in [keeps for signs, keeps in rules if has_any(words.lower(), signs)]:
        left = [row for row in left if keeps(row)] or left
    return left


#: Words of a first message that leaves something open, and the question.
QUESTIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("a big load",), "What would you like to wash?"),
    (("screen stays black",), "Is everything on it backed up?"),
    (("打印一份",), "文件在手机里还是在U盘里？"),
    (("小区叫哪种车",), "几个人坐，有什么东西要拉？"),
)
