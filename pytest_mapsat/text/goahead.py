"""Whether an agent asks the user for its go-ahead, and whether the user gives it.

A request for a go-ahead has two halves: a form that wants an answer (a question, a request to reply, a condition that the user is to fulfil), and an act that
the agent has in mind, or nothing else that could be answered. A missing detail, a choice, an offer to look something up, a report and a policy have one half only.
Both languages are always looked for. All patterns meet folded text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .document import Document
from .fold import fold_phrase
from .lexicon import lexicon_of
from .page import open_page
from .reader import read_names

_READ_CHARS = 20_000


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


# -- English -------------------------------------------------------------------------------------------------------------

_EN_DONE = (
    r"(?:(?:re)?booked|reserved|(?:re)?ordered|bought|purchased|cancell?ed|rescheduled|refunded|(?:re)?submitted|placed|processed|confirmed|finali[sz]ed|changed|moved|paid|charged"
    r"|transferred|updated|deleted|removed|upgraded|renewed|scheduled|issued|swapped|published|deployed|completed|done|sent|replaced|switched|activated|locked in|put through|checked out)"
)
#: What changes nothing when it is done: an offer or a question of these wants no go-ahead.
_EN_INFORM = (
    r"(?:look|check(?! (?:you |it |them )?(?:in|out)\b)|search|find|show|tell|explain|compare|list|help|assist|suggest|recommend|see|know|ask|need|hear|read|browse|explore|describe"
    rf"|have(?! (?:it|them|this|that|the \w+|your \w+) {_EN_DONE})|walk you|go (?:over|through|into)|pull up|dig|share|(?:give|send|get) you\b(?! (?:booked|on|in))|get (?:your|an idea|some)"
    r"|take your|double-check|verify|keep (?:looking|searching|you|an eye)|try (?:to find|another|again)|narrow|estimate|calculate|be|answer|clarify|assume|presume|understand"
    r"|do (?:any|some|more)|mention|remind|say|expect|offer|provide|point|let|call you|refer|interest|quote|wait)"
)
_EN_ADVERBS = r"(?:(?:just|now|then|please|also|still|simply|quickly|first|really|so|therefore|actually|instead|go ahead and|proceed and) )*"
_EN_ACT = rf"{_EN_ADVERBS}(?!{_EN_INFORM}\b)[a-z]"
#: Acts that a user who is asked for its own wish leaves to the agent.
_EN_DEED = (
    r"(?:(?:re)?book|reserve|(?:re)?order|buy|purchase|cancel|reschedule|refund|return|exchange|replace|submit|send|place|proceed|go ahead|continue(?! (?:look|search|brows|chat|shop))"
    r"|go (?:for|with) (?:it|this|that|the)|go through with|move (?:forward|ahead|it|this|that|the)|charge|transfer|update|delete|remove|confirm|finali[sz]e|lock|process|file|upgrade|downgrade|activate"
    r"|deactivate|renew|schedule|issue|void|release|swap|publish|post|deploy|execute|complete|check ?out|carry on|make (?:the|this|that|these)|do (?:this|that|it|so)|get (?:it|this|that)"
    r"|put (?:it|this|that|the)|pay(?! (?:by|with|in)\b)|hold|switch|close|apply|commit|sign|approve|authori[sz]e|dispatch|ship|arrange|press on)(?! (?:any|another|something)\b)"
)
_EN_GOOD = r"(?:ok|okay|alright|all right|fine|good|great|acceptable|agreeable|cool|suitable|satisfactory|work|suit(?: you)?|happy)"
_EN_RIGHT = r"(?:right|correct|accurate|in order|as you want(?:ed)?|what you (?:want|wanted|had in mind))"
_EN_IT = r"(?:that|this|it|(?:all )?(?:of )?(?:this|that|these|those|them|they)|the (?:above|plan|summary|order|booking|proposal|arrangement|change|total|itinerary)s?)"
#: What a user gives with its go-ahead; the second list needs a word of waiting before it.
_EN_LEAVE = r"(?:go-?ahead|go ahead|green light|approval|permission|consent|authori[sz]ation|sign-?off|thumbs[- ]up|blessing|say-?so|ok|okay|nod|all[- ]clear)"
_EN_WORD = rf"(?:{_EN_LEAVE}|confirmation|agreement|word|yes|decision|signal)(?! (?:number|code|e-?mail|letter|page|message|text|link|sms|id|slip|of (?:the|your))\b)"
_EN_YES = r"(?:yes|y|ok|okay|okey|yep|yeah|sure|go(?: ahead| for it)?|confirm(?:ed)?|proceed|i agree|agreed?|approved?|i approve|do it|book(?: it)?|order(?: it)?|cancel it|accept)"
_EN_PENDING = (
    rf"\b(?:i|we)(?:'ll|'d| will| would| can|'m going to|'m about to| am going to| am about to|'m ready to| am ready to| plan to| propose to| intend to|'d like to) {_EN_ACT}"
    rf"|\bready to {_EN_DEED}\b|\b(?:like|want) me to {_EN_ACT}"
)
_EN_WHEN = r"\b(?:if|once|when|whenever|as soon as|after|the moment|the second|provided|assuming|unless|until|till|so long as|as long as)"

_EN_ASKS = _any(
    # May I? Shall I book it?
    rf"\b(?:shall|should|may|can|could|might|do|must|how about|what if|why don't) (?:i|we) {_EN_ACT}",
    r"\b(?:shall|should|may|can) (?:i|we) ?\?",
    rf"\b(?:am i|are we) (?:good|clear|free|ok|okay|authori[sz]ed|allowed|cleared|set) to {_EN_ACT}",
    rf"\b(?:ok|okay|alright|all right|fine|happy|good|mind|objections?|problem|comfortable)(?: with you| by you)? (?:if|for|to|with) (?:me|i|we|us)\b(?: to)? {_EN_ACT}",
    rf"\bmind (?:if i|me) {_EN_ACT}",
    rf"^(?:permission|clear|clearance|approval|green light|go-ahead|ok|okay|alright) (?:to|for) {_EN_ACT}",
    # Do you want me to? Would you like it booked? Do you want to go ahead?
    rf"\b(?:want|like|wish|prefer|need) (?:me|us) to {_EN_ACT}[^?]*\?",
    rf"\b(?:want|like|wish|need) (?:it|this|that|them|both|these|(?:the|your|this|that|my) [^?.!,]{{1,40}}) {_EN_DONE}\b[^?]*\?",
    rf"\b(?:like|want|wish|wanna|care|happy|ready|okay|ok|willing|good|safe|set|cleared) to {_EN_ADVERBS}{_EN_DEED}\b[^?]*\?",
    r"\bare you (?:\w+ )?sure(?:\?|,| (?:you|about|that)\b)",
    rf"^{_EN_ADVERBS}{_EN_DEED}\b[^?,]{{0,60}}\?",
    # Do you agree? Do I have your OK?
    r"\bdo you (?:agree|approve|consent|accept|confirm|authori[sz]e|object|give (?:me )?your|have any objection|sign off)\b",
    rf"\b(?:do|can|could|may|might) i (?:have|get|take that as) (?:your|a|the|an) (?:\w+ )?{_EN_WORD}\b",
    rf"\b(?:need|want|require|await|awaiting|wait(?:ing)? (?:on|for)|give (?:me|us)|get|pending|subject to|looking for|ask(?:ing)? (?:you )?for|request|with|on|upon|after|before|until|at|on|missing is) (?:your|the|a|an) (?:\w+ )?{_EN_WORD}\b",
    rf"(?<!have )(?<!got )(?<!had )(?<!for )(?<!received )(?<!per )\byour (?:\w+ )?{_EN_LEAVE}(?! (?:was|has|number|code|on file)\b)\b",
    # Reply YES. Say the word.
    rf"\b(?:reply|respond|answer|type|text|write|enter|say|hit|press|tap|click|send|tell)(?: me| us| back)?(?: with| on)?(?: the| a| an| just| simply)?(?: \w+ button to)? \W?{_EN_YES}\b(?! for )",
    r"\b(?:reply|respond|answer|type|text|write|enter|say|send)(?: me| us| back)?(?: with)?(?: the word)? \"[^\"]{1,20}\"(?! (?:for|if you (?:need|have)) )",
    rf"\b(?:reply|respond|answer|type|text|enter|press|send)(?: me| back)?(?: with)? \W?\d\W? (?:to|and) (?:{_EN_DEED}|accept|agree|approve|i'll|we'll)",
    rf"\bto (?:{_EN_DEED}|accept|agree)[^.?!;]{{0,20}}, (?:just |simply |please )*(?:reply|respond|answer|type|text|enter|press|send|say)\b",
    r"\b(?:a|one|your|the|quick|simple|single) \W?(?:yes|ok|okay|go)\W? [^.?!]{0,30}?(?:\band (?:i|we|it)|\b(?:will|would) (?:do|suffice|be enough)|\bis (?:enough|all)|'s all|\bi'll)",
    r"\b(?:say|give me) (?:so|the word)\b|\bsay when\b",
    r"\b(?:let me know|tell me|just shout|give me a shout)(?:,| and|, and)? (?:i'll|i will|we'll|we will)\b",
    rf"\b(?:let me know|tell me|say|confirm)(?: if| whether| that| when)+ (?:{_EN_IT}(?:'s| is|'re| are| looks?| sounds?| works?| seems?)|you(?:'re| are) (?:\w+ )?{_EN_GOOD}|everything(?:'s| is| looks?)|(?:i|we) (?:can|should|may) {_EN_ACT}|to {_EN_DEED}|you (?:agree|approve|want to {_EN_DEED}|'d like to {_EN_DEED}|(?:want|would like) me to {_EN_ACT})|you'd like (?:me to {_EN_ACT}|to {_EN_DEED}))",
    rf"\btell me to {_EN_DEED}",
    # Please confirm.
    r"(?:^|[,;:.!—-] ?|\b(?:please|kindly|just|simply|then|and|so|you must|you should|you need to|you have to|you to|could you|can you|would you|will you) )(?:confirm|approve|authori[sz]e|agree|consent|sign off|ok|okay)"
    rf"(?:$|[.!?;:]|, (?:and|so|i'll|then)\b| (?:and|so|or|to|before|below|above|with|by|here|first|me|for me|this|that (?:you (?:want|would|agree|are (?:happy|ok|okay|fine))|you'd|this|i|we|the above)|you (?:want|agree|would)|you'd|you're (?:{_EN_GOOD})|if (?:you (?:want|agree|would)|you'd|you're {_EN_GOOD}|this|that|it|everything|i)"
    r"|whether (?:i|to|you (?:want|agree|would)|you'd)|it|these|those|(?:the|your) (?:\w+ )?(?:order|booking|purchase|cancellation|payment|reservation|change|return|exchange|refund|transfer|details|above|following|request|total|summary|plan|consent|agreement|approval|decision|intent(?:ion)?)s?(?! (?:number|date|method|address|id|reference|reason)))\b)",
    # Once you agree, I'll book it. I'll book it once you agree.
    rf"{_EN_WHEN} (?:you|you're|you've|you'd) [^.?!;]{{0,20}}?\b(?:agree|confirm|approve|say (?:so|yes|ok|go)|ok|okay|happy|fine|give|sign off|authori[sz]e|accept|nod|ready|want me to|like me to|tell me to|object)\b[^.?!;]{{0,60}}?(?:{_EN_PENDING})",
    rf"{_EN_WHEN} (?:{_EN_IT}|everything|all)(?:'s| is|'re| are| looks?| sounds?| works?| all)+ (?:{_EN_GOOD}|{_EN_RIGHT})?[^.?!;]{{0,40}}?(?:{_EN_PENDING})",
    rf"(?:{_EN_PENDING}|\bi (?:won't|will not)|\bnothing (?:is|will|gets|has))[^.?!;]{{0,80}}?{_EN_WHEN} (?:you|you're|that's|that is|this is|it's|i (?:hear|have|get))[^.?!;]{{0,20}}?\b(?:agree|confirm|approve|say|ok|okay|happy|fine|give|good|right|authori[sz]e|accept|nod|ready|object|yes|from you|back)\b",
)
#: Questions of acceptance: they ask for a go-ahead unless what they are about has been done.
_EN_ACCEPTED = _any(
    rf"(?:^|[,;:.!—-] ?|\b(?:and|so|but) )(?:is|are|would|will|does|do) {_EN_IT}(?: be| look| sound| seem| all)* {_EN_GOOD}\b[^?]*(?:\?|$)",
    rf"(?:^|[,;:.!—-] ?)(?:looks?|sounds?|works?|all|are you|you|are we)? ?(?:{_EN_GOOD}|deal|agreed|confirmed?|approved?|proceed|ready|fair enough)(?: (?:with|by|for) (?:you|that|this|it|me))?(?: to (?:go|you))? ?\?",
    r"\bhow (?:does (?:that|this|it) sound|'s that)|\bwhat do you say\b|\bany objections?\b|\byes or no\b|\by/n\b|\bworks? for you\?",
)
#: Questions whether something is right: of an act that is pending only.
_EN_VERIFIED = _any(
    rf"\b(?:is|are|does|do) {_EN_IT}(?: be| look| sound| seem| all)* {_EN_RIGHT}\b[^?]*(?:\?|$)",
    r"(?:^|[,—-] ?)(?:is (?:that|this) )?(?:right|correct|yes|yeah|thoughts)\?|\bwhat do you think\b",
)
_EN_REPORTED = re.compile(
    rf"\b(?:(?:i|we)(?:'ve| have)|has|have been|is now|are now) (?:\w+ )?(?:been )?{_EN_DONE}\b|^{_EN_DONE}[.!,:]"
)

# -- Chinese -------------------------------------------------------------------------------------------------------------

_ZH_INFORM = r"(?:查(?!收)|找|看看|看一|看下|搜|推荐|介绍|比较|对比|了解|解答|说明|讲|解释|列|问|知道|提供|告诉|帮到|做些?什么|什么)"
_ZH_DEED = (
    r"(?:下单|下了|拍下|预[订定约]|订(?!单)|定下|购买|买|取消|退(?!房|改)|改(?!规)|换|提交|支付|付款|付|扣款|扣|转账|转|发送|发(?!票|货)|寄|办|安排|执行|操作|继续|处理|确认(?!邮件|短信|码|函|单|信)|更新|修改|删|开通|关闭|续|升级"
    r"|锁定|出票|申请|登记|注册|开始|打款|充值|挂失|冻结|叫车|派车|报名|撤|保存|添加|走流程|往下|进行|动手|推进|批准|授权|使用|用您)"
)
_ZH_GOOD = r"(?:可以|(?<![出旅步航同银飞骑])行|好|成|ok|没问题|同意|没意见|接受|满意|合适|妥|中)"
_ZH_YES = r"[\"「『'(]?(?:1|是的?|好的?|可以|行|ok|yes|y|确认|同意|确定|继续|没问题|下单|嗯|对|成)(?![.、]?选|[\u4e00-\u9fff]{0,2}(?:您|你)的)"
_ZH_PENDING = rf"我们?(?:就|这就|马上|立刻|立即|现在|便|再|将|会|来|才|先|即|去|直接|打算|准备|想|好|可以|能|给您|帮您|为您|替您|给你|帮你|为你)+(?!{_ZH_INFORM})"
_ZH_WILLING = r"(?:同意|确认|确定|没问题|没意见|没异议|没有?(?:别的|其他)?(?:问题|意见|异议)|没错|无误|无异议|可以|ok|认可|点头|愿意|说行|放心|合适|满意|接受|批准|授权|答应|行|好|拍板|发话|开口|吩咐)"

_ZH_ASKS = _any(
    rf"(?:可以|可否|能否|能不能|可不可以|是否|要不要|需不需要|要|需要|想|愿意|同意|确认|确定|能|可|允许|方便)[^,。?;!]{{0,12}}?{_ZH_DEED}[^,。?;!]{{0,20}}(?:吗|么|\?|不\?|没\?)",
    rf"(?:是否|要不要|能不能|可不可以|可否|能否)[^,。?;!]{{0,12}}?{_ZH_DEED}",
    rf"(?:^|[,。;:!])(?:那|我|现在|这就|就|是不是就|是不是)?[^,。?;!]{{0,8}}?(?:{_ZH_DEED}|这么[定办])[^,。?;!]{{0,10}}(?:\?|吗|么$)",
    rf"{_ZH_DEED}[^,。?;!]{{0,16}}?{_ZH_GOOD}(?:吗|么|嘛|不|吧|否)",
    r"(?:确定|确认)(?:吗|么|\?)",
    r"(?:请|麻烦|烦请|劳烦|需要|等|待|还请|望)(?:您|你)?(?:的|再|先|务必|点击|帮忙|尽快|这边|最后|核对并|核对后|看后|给|一个|\")*(?:确认|同意|授权|批准|审批|点头|答复|拍板|许可|首肯|回复|指示|放行|可以)"
    r"(?=一?下?[^,。?;!]{0,3}(?:以上|上述|以下|下列|下面|是否要|是否同意|是否继续|无误)|(?![^,。?;!:]{0,12}(?:地址|手机|电话|姓名|日期|时间|数量|尺码|颜色|号码|订单号|人数|几|哪|什么|多少|是否)))",
    rf"(?:回复|回个|回一个|回我|回|输入|发送|发|打|说声|说|扣|点击|点一下|点|按|敲|选择)(?:一下|一个|一声|个|下)?{_ZH_YES}",
    r"说一声|吱一声|点个头|点头|给个话|给个准话|一句话|发句话|言语一声",
    rf"{_ZH_WILLING}(?:的话|后|之后|以后|了|,|就|请告诉我)[^。?!;]{{0,12}}?{_ZH_PENDING}",
    rf"(?:等|待)(?:您|你)[^。?!;]{{0,12}}?(?:再|就|才){_ZH_DEED}",
)
_ZH_ACCEPTED = _any(
    rf"(?:^|[,。;:!~])(?:那)?(?:您|你|咱们?)?(?:看|觉得|说)?(?:这样|这么办|这么安排|这|以上安排|以上|如此)?[^,。?;!]{{0,6}}?{_ZH_GOOD}(?:了)?(?:吗|么|嘛|不|吧|否|\?)",
    r"好不好|行不行|可不可以|成不成|您看(?:可以|行|呢)|意下如何",
)
_ZH_VERIFIED = _any(r"(?:对|没错|正确|无误|是)(?:吗|么|吧)\??$|对不对|是不是|怎么样\?|如何\?")
_ZH_REPORTED = re.compile(
    r"已经?(?:为您|帮您|给您|替您)?[^,。?;!]{0,8}(?:好|成功|完成|了|提交|取消|预订|下单)|(?:订|下单|取消|提交|办|改|换|退)(?:好|成功)了"
)

#: Words of others, and what was agreed before.
_QUOTED = re.compile(r"\"[^\"]{12,}\"|「[^」]{8,}」|『[^』]{8,}』|(?<=[您你]说)\"[^\"]{4,}\"")
_BEFORE = re.compile(
    r"\b(?:you|you've|you have) (?:already |just |also |earlier )*(?:confirmed|agreed|approved|said|told|gave|given|asked|authori[sz]ed|okayed)[^,;.?!]*"
    r"|\bthank(?:s| you) for [^,;.?!]*"
    r"|(?:您|你)(?:已经?|刚才?|之前|上次|此前|方才)[^,;。?!]*|感谢(?:您|你)的?[^,;。?!]*|谢谢(?:您|你)?的?确认"
)
#: What holds for everybody and always asks nobody now.
_GENERAL = re.compile(
    r"\b(?:always|never|policy|policies|usually|normally|customers?|generally|in general|any (?:order|booking|change|payment)|every (?:order|booking|change|time)|if you need|should you need|anything|any questions)\b"
    r"|任何|一般|通常|规定|政策|每次|一律|用户|客户|凡是|从不|绝不"
)
_ANYTHING = re.compile(r"\b(?:anything|any (?:other|more|further|changes?)|something else|else)\b")
_WHICH = re.compile(
    r"\b(?:what|which|when|where|who|why|how (?:many|much|long|far|can|may|should|do)|whose)\b[^,;:.?!]*$"
)
_DETAIL = re.compile(
    rf"哪|几|什么|多少|谁|怎么(?!样)|提供|告知|告诉(?!我,)|还是|说一下|原因|{_ZH_INFORM}[^,]*?{_ZH_DEED}|需要(?:修改|更改|调整|补充)"
)
_RESETS = re.compile(r"\bor\b|\bif not\b|\botherwise\b")
_CHOICE = re.compile(
    r"\bor\b(?! (?:not|leave|wait|hold|change|cancel|would|do|is|keep|should i (?:wait|hold)|no\b|\S+ (?:to|for) (?:cancel|stop|decline|no|leave|change)))"
)


@lru_cache(maxsize=256)
def asks_go_ahead(message: str, language: str) -> bool:
    """Return whether an agent's message asks the user for a go-ahead for an act that it has in mind.

    Args:
        message: the agent's words; of a longer one only the last 20,000 characters are read.
        language: BCP 47 tag of the case; a message in another language is read in that.
    """
    page = open_page(message[-_READ_CHARS:], language=language)
    return bool(go_ahead_requests(read_names(page, lexicon_of(()))))


def go_ahead_requests(document: Document) -> frozenset[int]:
    """Return the indices of the sentences of an agent's message that ask for a go-ahead."""
    sentences = [_plain(fold_phrase(document.words(span))) for span in document.sentences]
    whole = "\n".join(sentences)
    done = bool(_EN_REPORTED.search(whole) or _ZH_REPORTED.search(whole))
    pending = re.search(_EN_PENDING, whole) or re.search(_ZH_PENDING, whole)
    found = []
    for number, sentence in enumerate(sentences):
        accepts = _EN_ACCEPTED.search(sentence) or _ZH_ACCEPTED.search(sentence)
        verifies = _EN_VERIFIED.search(sentence) or _ZH_VERIFIED.search(sentence)
        if _asks(sentence) or (accepts and (pending or not done)) or (verifies and pending):
            found.append(number)
    return frozenset(found)


def _asks(sentence: str) -> bool:
    """Return whether a sentence asks for a go-ahead by its own words, and for nothing else in the same breath."""
    if _GENERAL.search(sentence) and not sentence.endswith(("?", "吗")):
        return False
    english = any(_is_request(sentence, one.start(), one.end()) for one in _EN_ASKS.finditer(sentence))
    return english or any(not _DETAIL.search(one[0]) for one in _ZH_ASKS.finditer(sentence))


def _is_request(sentence: str, start: int, end: int) -> bool:
    """Return whether a form of asking wants no detail, no choice and nothing that is left open."""
    before = _RESETS.split(sentence[:start])[-1]
    after = re.split(r"[,;?!]", sentence[end:])[0]
    around = f"{before}{sentence[start:end]}{after}"
    return not (_WHICH.search(before) or _CHOICE.search(sentence, start) or _ANYTHING.search(around))


def _plain(sentence: str) -> str:
    return _BEFORE.sub("", _QUOTED.sub('""', sentence)).replace("请问", "")


_AGREES = re.compile(
    r"^(?:(?:yes|yeah|yep|yup|sure|ok|okay|certainly|of course|absolutely|definitely|alright|all right|fine|great|perfect|please|go ahead|do it|go for it|confirm(?:ed)?|i (?:agree|confirm|approve)|agreed|approved"
    r"|proceed|sounds good|that(?:'s| is) (?:fine|ok|okay|good)|no problem|y|book it)\b|(?:是的?|好的?|可以|行|没问题|同意|确认|嗯+|对|成|当然|就这么办|请继续|继续|没意见|办吧|下单吧|1$))"
)
_DECLINES = re.compile(
    r"^(?:(?:no|nope|nah|don't|do not|not (?:yet|now)|please don't|please do not|stop|never mind|hold on|wait|i(?:'d| would) rather not|i (?:don't|do not) (?:want|agree))\b"
    r"|不(?!错)|先不|先别|别|不用|不要|不行|算了|等等|等一下|暂时不|没必要)"
)
_HEDGED = re.compile(
    r"\?|\b(?:but|if|unless|except|however|though|only|don't|do not|not|wait|instead|first|before|maybe|perhaps|rather)\b|但|不过|如果|除非|先|别|不要|改成|换成|要是|可是|只是|吗|呢|也许|可能"
)


def agrees(message: str, language: str) -> bool | None:
    """Return whether a user's words plainly agree (True), plainly decline (False), or neither (None).

    Args:
        message: the user's words.
        language: BCP 47 tag of the case; both languages are always read.
    """
    del language
    said = fold_phrase(message[:_READ_CHARS]).strip(" \"'.!")
    if _DECLINES.match(said):
        return False if "go ahead" not in said and "?" not in said else None
    return True if _AGREES.match(said) and not _HEDGED.search(said) else None
