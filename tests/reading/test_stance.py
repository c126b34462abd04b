"""What a reply does with the things that it names, in the ways that people and models write."""

import pytest
from reading_help import reading, stances

#: Text, what it proposes, what it names and does not propose.
PLAIN = [
    ("Any of them except Birch Cafe will do. Take Amber Hall.", "amber", "birch"),
    ("Amber Hall is sold out. Birch Cafe instead?", "birch", "amber"),
    ("云溪茶社缺货。推荐红枫面馆。", "红枫面馆", "云溪茶社"),
    ("Order from Birch Cafe.", "birch", ""),
    ("Do Amber Hall first, it closes at 15:30, so this one can't wait. Then go to Birch Cafe.", "amber birch", ""),
    ("Go to Amber Hall. On the way back you might as well use Birch Cafe.", "amber birch", ""),
    ("Start at Amber Hall, then go to Birch Cafe, they don't open up again till half past three.", "amber birch", ""),
    ("Get lunch from Birch Cafe, four minutes on foot.", "birch", ""),
    ("Take something from the Birch Cafe menu.", "birch", ""),
    ("A soup from Birch Cafe is what I'd suggest.", "birch", ""),
    ("You can still order from Birch Cafe until 22:30.", "birch", ""),
    ("Dunlin House is closed, so order from Birch Cafe.", "birch", "dunlin"),
    ("Go to Birch Cafe, or get takeaway from Dunlin House.", "birch dunlin", ""),
    ("Don't order from Birch Cafe.", "", "birch"),
    ("Get a taxi from Birch Cafe to Amber Hall.", "amber", "birch"),
    ("From Birch Cafe it is 300 m. Go to Amber Hall.", "amber", "birch"),
    ("您可以从云溪茶社点餐，30分钟左右送到。", "云溪茶社", ""),
    ("从云溪茶社出发，走到听松书局。", "听松书局", "云溪茶社"),
    ("Dunlin House is too low. That leaves Birch Cafe at 2 Tide Street.", "birch", "dunlin"),
    ("I'd send you to Birch Cafe. You've just missed Amber Hall.", "birch", "amber"),
    ("Set off for Amber Hall right away.", "amber", ""),
    ("临江大桥过不去，您改从青石停车场走吧。", "青石停车场", "临江大桥"),
    ("我劝您直接去听松书局。", "听松书局", ""),
    ("How about Birch Cafe?", "birch", ""),
    ("Would Birch Cafe work for you? It has 4.6 stars.", "birch", ""),
    ("Would Birch Cafe or Dunlin House work for you?", "", "birch dunlin"),
    ("Go to Amber Hall; Birch Cafe is shut on Mondays.", "amber", "birch"),
    ("I would skip Birch Cafe and head to Amber Hall instead.", "amber", "birch"),
    ("Amber Hall is your best option. Birch Cafe is nearer, but it closes before you get there.", "amber", "birch"),
    ("Rather than Birch Cafe, I'd book Amber Hall.", "amber", "birch"),
    ("Amber Hall. It's cheaper than Birch Cafe and open late.", "amber", "birch"),
    ("amber hall, 5 min walk. birch cafe's full.", "amber", "birch"),
    (
        "I looked at Birch Cafe, Cedar Garage and Dunlin House as well; none of them takes dogs. Amber Hall does, so that's where I'd go.",
        "amber",
        "birch cedar",
    ),
    ("If Amber Hall is full, Birch Cafe would do.\n\nSo: Amber Hall first.", "amber", "birch"),
    ("You could take Cedar Garage, but its barrier is too low for the van. Park at Dunlin House.", "dunlin", "cedar"),
    ("Birch Cafe is out: no step-free entrance. Dunlin House has a ramp, so choose that one.", "dunlin", "birch"),
    ("My recommendation is Dunlin House, two doors down from Market Square.", "dunlin", "square"),
    ("Dunlin House is the one I'd go with. Amber Hall? Too loud. Birch Cafe? Fully booked.", "dunlin", "amber birch"),
    (
        "| Place | Open? | Verdict |\n|---|---|---|\n| Amber Hall | yes | ✅ go here |\n| Birch Cafe | no | ❌ |\n| Dunlin House | until 17:00 | too early |",
        "amber",
        "birch dunlin",
    ),
    (
        "### Recommended\n- **Amber Hall** – 12 min\n\n### Not suitable\n- **Birch Cafe** – closed\n- **Dunlin House** – 2 km",
        "amber",
        "birch dunlin",
    ),
    ("1. 10:00 Amber Hall\n2. 11:30 Birch Cafe\n3. 13:00 Dunlin House", "amber birch dunlin", ""),
    (
        "Start at Amber Hall, then stroll to Birch Cafe, and end at Dunlin House. I left The Old Kiln out because of the stairs.",
        "amber birch dunlin",
        "kiln",
    ),
    ("Shall I book Amber Hall?", "", "amber"),
    ("Cedar Garage won't work for you since its headroom is 1.9 m. Use Dunlin House.", "dunlin", "cedar"),
    ("There is no table left at Amber Hall tonight, so it has to be Birch Cafe.", "birch", "amber"),
    ("Had you asked an hour ago I'd have said Amber Hall; now only Birch Cafe still serves.", "", "amber"),
    ("Amber Hall it is – 10 min on foot, open till nine.", "amber", ""),
    ("Good choice would be the Kiln (open until 10 pm). Avoid Amber Hall on Fridays.", "kiln", "amber"),
    ("Take Cedar Garage, not Dunlin House: the latter is locked after six.", "cedar", "dunlin"),
    ("ok so birch cafe is the place, dont bother with amber hall they close at 5", "birch", "amber"),
    (
        "Amber Hall would be lovely if you had more time, yet with your train at six I'd keep to Birch Cafe.",
        "birch",
        "amber",
    ),
    ("Birch Cafe doesn't open until seven, so you'd be standing outside. Amber Hall opens at five.", "", "birch"),
    ("You're looking for Dunlin House, right next to Market Square.", "", "square"),
    ("**Best:** Amber Hall (9 min)\n**Backup:** Birch Cafe (14 min)", "amber", "birch"),
    ("My pick is Amber Hall. As a fallback, Birch Cafe also has space.", "amber", "birch"),
    ("推荐云溪茶社，红枫面馆今天没开门。", "云溪茶社", "红枫面馆"),
    ("去听松书局吧，别去云溪茶社，那边人太多。", "听松书局", "云溪茶社"),
    ("红枫面馆虽然近，但六点就打烊了，所以还是选云溪茶社。", "云溪茶社", "红枫面馆"),
    ("与其去红枫面馆，不如去云溪茶社。", "云溪茶社", "红枫面馆"),
    ("不是红枫面馆，是云溪茶社。", "云溪茶社", "红枫面馆"),
    ("听松书局和云溪茶社我都看了，前者周一闭馆，后者正常营业，建议去云溪茶社。", "云溪茶社", "听松书局"),
    ("车停青石停车场，临江大桥在修路，走不了。", "青石停车场", "临江大桥"),
    ("云溪茶社在白鹭广场旁边，走路三分钟，推荐。", "云溪茶社", "白鹭广场"),
    (
        "| 地点 | 结论 |\n|---|---|\n| 云溪茶社 | ✅ 推荐 |\n| 红枫面馆 | ❌ 已打烊 |\n| 听松书局 | 太远 |",
        "云溪茶社",
        "红枫面馆 听松书局",
    ),
    (
        "**为什么不选其他几家**\n- 红枫面馆：要排队40分钟\n- 听松书局：不卖吃的\n\n就去云溪茶社。",
        "云溪茶社",
        "红枫面馆 听松书局",
    ),
    ("上午先逛听松书局，中午到红枫面馆吃面，下午在云溪茶社喝茶。", "听松书局 红枫面馆 云溪茶社", ""),
    ("红枫面馆我就不推荐了，上次您说太辣。云溪茶社口味清淡，更合适。", "云溪茶社", "红枫面馆"),
    ("要不要我帮您订云溪茶社？", "", "云溪茶社"),
    ("云溪茶社还有位，红枫面馆满座，听松书局没有餐食，您就订云溪茶社。", "云溪茶社", "红枫面馆 听松书局"),
    ("除了云溪茶社，其他的都关门了：红枫面馆八点打烊，听松书局七点闭馆。", "", "红枫面馆 听松书局"),
    ("原本想给您安排听松书局，可它今天盘点不营业，改成云溪茶社。", "云溪茶社", "听松书局"),
    ("1. 10:00 听松书局\n2. 12:00 红枫面馆\n3. 14:00 云溪茶社", "听松书局 红枫面馆 云溪茶社", ""),
    ("您问的红枫面馆今天不营业，云溪茶社开着，走过去五分钟。", "", "红枫面馆"),
    ("备选：红枫面馆。首选：云溪茶社。", "云溪茶社", "红枫面馆"),
    ("走临江大桥最快，但今晚封桥，得绕行。", "", "临江大桥"),
    ("我没选红枫面馆和听松书局，一个太远一个太贵。", "", "红枫面馆 听松书局"),
]


@pytest.mark.parametrize(("text", "proposed", "others"), PLAIN, ids=[text[:40] for text, _, _ in PLAIN])
def test_what_is_proposed_is_affirmed_and_nothing_else_is(text, proposed, others):
    document = reading(text)
    for key in proposed.split():
        assert "affirmed" in stances(document, key)
        assert not stances(document, key) & {"rejected", "denied"}
    for key in others.split():
        assert stances(document, key)
        assert "affirmed" not in stances(document, key)


#: Text, the thing, its one stance.
SURE = [
    ("Skip Birch Cafe; take Amber Hall.", "birch", "rejected"),
    ("Amber Hall is cheaper than Birch Cafe.", "birch", "compared"),
    ("Park at Cedar Garage, next to Market Square.", "square", "landmark"),
    ("Shall I book a table at Amber Hall?", "amber", "asked"),
    ("Unfortunately there is no Amber Hall in this town.", "amber", "denied"),
    ("If Amber Hall is full, Birch Cafe is an alternative. Go to Amber Hall.", "birch", "compared"),
    ("I ruled out Birch Cafe because of the steps. Go to Amber Hall.", "birch", "rejected"),
    ("Don't go to Birch Cafe, go to Amber Hall.", "birch", "rejected"),
    ("Dunlin House, unlike Birch Cafe, has a lift. Choose Dunlin House.", "birch", "compared"),
    ("别去红枫面馆，去云溪茶社。", "红枫面馆", "rejected"),
    ("云溪茶社比红枫面馆近。", "红枫面馆", "compared"),
    ("要不要我帮您订红枫面馆？", "红枫面馆", "asked"),
    ("红枫面馆今天打烊了，去云溪茶社吧。", "红枫面馆", "rejected"),
    ("红枫面馆也可以，不过还是推荐云溪茶社。", "红枫面馆", "unclear"),
    ("首选云溪茶社，亦推荐红枫面馆。", "红枫面馆", "unclear"),
    ("Go to Amber Hall; if it's full, Birch Cafe is a good second choice.", "birch", "unclear"),
    ("Go to Amber Hall, with Birch Cafe as the backup.", "birch", "unclear"),
    (
        "推荐云溪茶社。\n\n其余几家开门都更晚：\n\n| 店 | 开门 |\n|---|---|\n| 听松书局 | 07:30 |\n| 红枫面馆 | 08:00 |",
        "听松书局",
        "compared",
    ),
    ("推荐云溪茶社。\n\n其他几家没选的原因：\n- 听松书局：只剩下午三点半\n- 红枫面馆：太远", "听松书局", "rejected"),
    ("红枫面馆我没敢选，选的是云溪茶社。", "红枫面馆", "rejected"),
]


@pytest.mark.parametrize(("text", "key", "stance"), SURE, ids=[text[:40] for text, _, _ in SURE])
def test_a_stance_is_named_as_a_reader_would_name_it(text, key, stance):
    assert stances(reading(text), key) == {stance}


def test_a_closing_time_does_not_turn_a_place_down():
    document = reading("Go to Amber Hall. Amber Hall closes at 6 pm.")
    assert stances(document, "amber") == {"affirmed"}


def test_words_of_negation_that_deny_something_bad_do_not_turn_a_place_down():
    for text in (
        "Amber Hall has no stairs and no toll.",
        "Amber Hall isn't far, no need to book.",
        "云溪茶社没有台阶，不用排队。",
    ):
        document = reading(text)
        assert {mention.stance for mention in document.mentions} <= {"affirmed", "unclear"}


def test_what_a_list_under_a_rejecting_heading_names_is_rejected():
    document = reading("Go to Amber Hall.\n\n**Not suitable:**\n- Birch Cafe: 3 km\n- Dunlin House: 12 yuan")
    assert stances(document, "birch") == stances(document, "dunlin") == {"rejected"}


def test_a_row_with_a_cross_is_rejected_and_the_picked_row_is_affirmed():
    document = reading("| Place | Fits |\n|---|---|\n| Amber Hall (recommended) | ✅ |\n| Birch Cafe | ❌ |")
    assert stances(document, "amber") == {"affirmed"}
    assert stances(document, "birch") == {"rejected"}


def test_things_that_are_only_described_are_neither_proposed_nor_turned_down():
    document = reading("I recommend Amber Hall. Birch Cafe has a terrace.")
    assert stances(document, "birch") == {"described"}


def test_the_words_that_decided_are_told():
    mention = reading("I'd skip Birch Cafe.").of("birch")[0]
    assert mention.why.lower() == "skip"


def test_a_stance_decided_elsewhere_tells_the_words_of_that_place():
    later = reading("I recommend Amber Hall. Amber Hall is open.").of("amber")[1]
    assert (later.stance, later.why) == ("affirmed", "recommend")


def test_a_list_with_a_question_which_one_is_wanted_proposes_nothing():
    document = reading("- Amber Hall: 20 yuan\n- Birch Cafe: 30 yuan\n\nTell me which one you would like.")
    assert stances(document, "amber") == stances(document, "birch") == {"asked"}


def test_what_a_lead_in_turns_down_is_turned_down_one_by_one():
    document = reading("Go to Amber Hall. The nearer ones won't do: Birch Cafe opens at six.")
    assert stances(document, "birch") == {"rejected"}


def test_a_column_of_opening_hours_makes_no_plan():
    table = "| Place | Opening hours |\n|---|---|\n| Birch Cafe | 08:00-21:00 |"
    document = reading(f"I recommend Amber Hall.\n\n{table}")
    assert stances(document, "birch") == {"compared"}


@pytest.mark.parametrize(
    ("text", "key", "stance"),
    [
        ("| Road | Time |\n|---|---|\n| Birch Cafe | 12 min |", "birch", "affirmed"),
        ("The bus to Amber Hall left at 23:20.", "amber", "rejected"),
        ("| Alternatives | Walk |\n|---|---|\n| Birch Cafe | 9 min |\n\nGo to Amber Hall.", "birch", "compared"),
        ("Go to Amber Hall. No need to avoid taking Birch Cafe's soup.", "amber", "affirmed"),
        ("去云溪茶社就行，一个人没必要去红枫面馆。", "红枫面馆", "rejected"),
        ("走临江大桥就行；青石停车场看着近点，其实要走二十分钟，24分钟吧。去听松书局吧。", "青石停车场", "compared"),
        ("去听松书局吧。", "听松书局", "affirmed"),
        ("Post first. Leave Amber Hall until the end.", "amber", "affirmed"),
        (
            "Normally I'd say Birch Cafe, but with the bridge closed you'd never make it; go to Amber Hall.",
            "birch",
            "rejected",
        ),
        ("从白鹭广场走，临江大桥今晚封到十点。", "白鹭广场", "affirmed"),
        ("从白鹭广场走10分钟到云溪茶社。", "白鹭广场", "landmark"),
        ("云溪茶社开到十点，所以去那儿。", "云溪茶社", "affirmed"),
        ("听松书局有点贵，我更喜欢云溪茶社。", "云溪茶社", "affirmed"),
        ("最近的是青石停车场，67米，可惜一个空位都没有了。", "青石停车场", "rejected"),
        ("推荐云溪茶社。\n\n### 为什么没选别的\n- 听松书局：太远\n\n去云溪茶社开车7分钟。", "云溪茶社", "affirmed"),
        ("Stay off Amber Hall.", "amber", "rejected"),
        ("Take Birch Cafe. I preferred it to Amber Hall.", "amber", "compared"),
        ("Take Birch Cafe. The obvious choice would be Amber Hall, but it is full.", "amber", "compared"),
        ("Sorry, Amber Hall's off until two. Take Birch Cafe.", "amber", "rejected"),
        ("Take Amber Hall: it has a lift too and a cafe.", "amber", "affirmed"),
        ("No luck with Amber Hall, I'm afraid.", "amber", "rejected"),
        ("Take Birch Cafe. Amber Hall costs the same as my pick, yet it is too small.", "amber", "rejected"),
        ("Leave Amber Hall at noon and go to Birch Cafe.", "amber", "landmark"),
        (
            "Take Amber Hall. It's eighteen minutes if you walk, but with a sick kid I wouldn't.",
            "amber",
            "affirmed",
        ),
    ],
)
def test_what_blind_answers_taught_stays_learned(text, key, stance):
    assert stances(reading(text), key) == {stance}
