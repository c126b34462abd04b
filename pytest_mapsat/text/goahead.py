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

#: What changes nothing when it is done: an offer or a question of these wants no go-ahead.
_EN_INFORM = (
    r"(?:look|check(?! (?:you |it |them )?(?:in|out)\b)|search|find|show|tell|explain|compare|list|help|assist|suggest|recommend|see|know|ask|have|need|hear"
    r"|read|browse|explore|describe|walk you|go (?:over|through|into)|pull up|dig|share|(?:give|send|get) you\b(?! (?:booked|on|in))|get (?:your|an idea|some)|take your"
    r"|double-check|verify|keep (?:looking|searching|you|an eye)|try (?:to find|another|again)|narrow|estimate|calculate|be|answer|clarify|assume|presume|understand"
    r"|do (?:any|some|more)|mention|remind|say|expect|offer|provide|point|let|call you|refer|interest|quote|wait|also (?:look|check|find|show|help|suggest|recommend|tell))"
)
_EN_ADVERBS = (
    r"(?:(?:just|now|then|please|also|still|simply|quickly|first|really|so|therefore|actually|instead|go ahead and) )*"
)
_EN_ACT = rf"{_EN_ADVERBS}(?!{_EN_INFORM}\b)[a-z]"
#: Acts that a user who is asked about its own wish leaves to the agent.
_EN_DEED = (
    r"(?:book|reserve|order|buy|purchase|cancel|rebook|reschedule|refund|return|exchange|replace|submit|send|place|proceed|go ahead|continue(?! (?:look|search|brows|chat))"
    r"|go (?:for|with) (?:it|this|that|the)|move forward|charge|transfer|update|delete|remove|confirm|finali[sz]e|lock|process|file|upgrade|downgrade|activate|deactivate|renew"
    r"|schedule|issue|void|release|swap|publish|post|deploy|execute|complete|check ?out|carry on|make (?:the|this|that|these)|do (?:this|that|it|so)|get (?:it|this|that)"
    r"|put (?:it|this|that|the)|pay|hold|change|switch|start|stop|end|close|open|apply|run|take|set|add|keep going|commit|sign|approve|authori[sz]e|dispatch|ship|arrange|pull the trigger|press on)"
)
_EN_DONE = (
    r"(?:booked|reserved|ordered|bought|purchased|cancell?ed|rebooked|rescheduled|refunded|submitted|placed|processed|confirmed|finali[sz]ed|changed|moved|paid|charged|transferred"
    r"|updated|deleted|removed|upgraded|renewed|scheduled|issued|swapped|published|deployed|completed|done|sent|replaced|switched|activated|locked in|put through|checked out)"
)
_EN_GOOD = (
    r"(?:ok|okay|alright|all right|fine|good|great|acceptable|agreeable|cool|suitable|satisfactory|work|suit|happy)"
)
_EN_RIGHT = r"(?:right|correct|accurate|in order|as you want(?:ed)?|what you (?:want|had in mind))"
_EN_IT = r"(?:that|this|it|(?:all )?(?:of )?(?:this|that|these|those|them|they)|the (?:above|plan|summary|order|booking|proposal|arrangement|change|total|itinerary)s?)"
_EN_LEAVE = (
    r"(?:go-ahead|go ahead|green light|approval|permission|consent|authori[sz]ation|sign-?off|thumbs[- ]up|blessing|say-?so|ok|okay|confirmation|agreement|all-clear|nod|yes)"
    r"(?! (?:number|code|e-?mail|letter|page|message|text|link|sms|id|slip))"
)
_EN_YES = r"(?:yes|y|ok|okay|okey|yep|yeah|sure|go(?: ahead| for it)?|confirm(?:ed)?|proceed|agree[d]?|approved?|do it|book(?: it)?|order(?: it)?|cancel it|continue|accept|1)"
_EN_PENDING = rf"\b(?:i|we)(?:'ll|'d| will| would| can|'m going to|'m about to| am going to| am about to|'m ready to| am ready to) {_EN_ACT}"

_EN_ASKS = _any(
    # May I? Shall I book it?
    rf"\b(?:shall|should|may|can|could|might|do|must|how about|what if|why don't) (?:i|we) {_EN_ACT}",
    r"\b(?:shall|should|may|can) (?:i|we) ?\?",
    rf"\bam i (?:good|clear|free|ok|okay|authori[sz]ed|allowed|cleared) to {_EN_ACT}",
    rf"\b(?:ok|okay|alright|all right|fine|happy|good|mind|objections?) (?:if|for|to|with) (?:me|i|we|us)\b(?: to)? {_EN_ACT}",
    rf"\bmind (?:if i|me) {_EN_ACT}",
    # Do you want me to? Would you like it booked? Do you want to go ahead?
    rf"\b(?:want|like|wish|prefer|need) (?:me|us) to {_EN_ACT}[^?]*\?",
    rf"\b(?:want|like|wish|need) (?:it|this|that|them|both|these|(?:the|your) [^?.!,]{{1,40}}) {_EN_DONE}\b[^?]*\?",
    rf"\b(?:like|want|wish|wanna|care|happy|ready|sure you want|okay|ok|willing|good|safe|set|cleared) to {_EN_ADVERBS}{_EN_DEED}\b[^?]*\?",
    rf"^{_EN_ADVERBS}{_EN_DEED}\b[^?,]{{0,40}}\?",
    # Do you agree? Do I have your OK?
    r"\bdo you (?:agree|approve|consent|accept|confirm|authori[sz]e|object|give (?:me )?your|have any objection|sign off)\b",
    rf"\b(?:do|can|could|may|might) i (?:have|get|take that as) (?:your|a|the|an) (?:\w+ )?{_EN_LEAVE}\b",
    rf"\b(?:need|want|require|await|awaiting|waiting (?:on|for)|wait for|give me|give us|get|pending|subject to|looking for|asking for|request|with|on|upon|after|before|until|without) (?:your|the|a) (?:\w+ )?{_EN_LEAVE}\b",
    # Reply YES. Say the word.
    rf"\b(?:reply|respond|answer|type|text|write|enter|say|hit|press|tap|click|send|tell)(?: me| back)?(?: with| on)?(?: the| a| just| simply)? \W?{_EN_YES}\b",
    r"\b(?:say|give me) (?:so|the word)\b|\bsay when\b",
    r"\b(?:let me know|tell me|just shout|give me a shout)(?:,| and|, and)? (?:i'll|i will|we'll|we will)\b",
    rf"\b(?:let me know|tell me|say|confirm)(?: if| whether| that| when)+ (?:{_EN_IT}(?:'s| is|'re| are| looks?| sounds?| works?| seems?)|you(?:'re| are)|everything(?:'s| is| looks?)|i (?:can|should|may)|we (?:can|should|may)|to|you (?:agree|approve|want to|'d like to|want me to|would like me to)|you'd like (?:me )?to)(?! {_EN_INFORM})\b",
    # Please confirm.
    r"(?:^|[,;:.!-] |\b(?:please|kindly|just|simply|then|and|so|you|must|should|need to|have to|you to) )(?:confirm|approve|authori[sz]e|agree|consent|sign off|ok|okay)"
    r"(?:$|[.!?,;:]| (?:and|so|or|to|before|below|above|with|by|here|first|for me|this|that (?:you|this|i|the above)|you(?:'d| want| are|'re| agree| would)|if (?:you(?:'d| want| are|'re| agree| would)|this|that|it|everything|i)|whether (?:i|to|you want)"
    r"|it|these|those|(?:the|your) (?:order|booking|purchase|cancellation|payment|reservation|change|return|transfer|details|above|following|request|total|summary|plan|consent|agreement|approval|decision)s?)\b)",
    # Once you agree, I'll book it. I'll book it once you agree.
    r"\b(?:if|once|when|as soon as|after|the moment|provided|assuming|unless|until|so long as|as long as) (?:you|you're|you've|you'd) [^.?!;]{0,20}?\b(?:agree|confirm|approve|say (?:so|yes|ok|go)|ok|okay|happy|fine|give|sign off|authori[sz]e|accept|nod|ready|want me to|like me to|tell me to|object)\b[^.?!;]{0,60}?"
    + _EN_PENDING,
    rf"\b(?:if|once|provided|assuming|as long as) (?:{_EN_IT}|everything|all)(?:'s| is|'re| are| looks?| sounds?| works?| all)+ (?:{_EN_GOOD}|{_EN_RIGHT})?[^.?!;]{{0,40}}?"
    + _EN_PENDING,
    _EN_PENDING
    + r"[^.?!;]{0,80}?\b(?:if|once|when|as soon as|after|the moment|provided|unless) (?:you|you're|that's|that is|this is|it's|i (?:hear|have|get))[^.?!;]{0,20}?\b(?:agree|confirm|approve|say|ok|okay|happy|fine|give|good|right|authori[sz]e|accept|nod|ready|object|yes|from you|back)\b",
)
#: Questions of acceptance: they ask for a go-ahead unless what they are about has been done.
_EN_ACCEPTED = _any(
    rf"\b(?:is|are|would|will|does|do|was) {_EN_IT}(?: be| look| sound| seem| all)* {_EN_GOOD}\b[^?]*\?",
    rf"(?:^|[,;:.!-] ?)(?:looks?|sounds?|works?|all|are you|you)? ?(?:{_EN_GOOD}|deal|agreed|confirmed?|approved?|proceed|ready|sounds good)(?: (?:with|by|for) (?:you|that|this|it|me))?(?: to (?:go|you))? ?\?",
    r"\bhow (?:does (?:that|this|it) sound|'s that)|\bwhat do you (?:say|think)\b|\bany objections?\b|\byes or no\b|\by/n\b|\bworks? for you\?",
)
#: Questions whether something is right: of an act that is pending only.
_EN_VERIFIED = _any(
    rf"\b(?:is|are|does|do) {_EN_IT}(?: be| look| sound| seem| all)* {_EN_RIGHT}\b[^?]*\?",
    r", ?(?:right|correct|yes|yeah)\?",
)
_EN_REPORTED = re.compile(
    rf"\b(?:(?:i|we)(?:'ve| have)|has|have been|is now|are now) (?:\w+ )?(?:been )?{_EN_DONE}\b|^{_EN_DONE}[.!,]"
)

# -- Chinese -------------------------------------------------------------------------------------------------------------

_ZH_INFORM = r"(?:查|找|看|搜|推荐|介绍|比较|对比|了解|解答|说明|讲|解释|列|问|知道|提供|告诉|帮到|做些?什么|什么)"
_ZH_DEED = (
    r"(?:下单|预[订定约]|订(?!单)|购买|买|取消|退(?!房)|改|换|提交|支付|付款|扣款|转账|发送|发(?!票|货)|寄|办|安排|执行|操作|继续|处理|确认|更新|修改|删|开通|关闭|续|升级|锁定|出票"
    r"|申请|登记|注册|开始|打款|充值|挂失|冻结|叫车|派车|报名|撤|保存|加|约|走流程|往下|进行|动手|推进)"
)
_ZH_YES = r"[\"「『'(]?(?:1|一|是|好|可以|行|ok|yes|y|确认|同意|确定|继续|没问题|下单|嗯|对|成)"
_ZH_PENDING = rf"我们?(?:就|这就|马上|立刻|立即|现在|便|再|将|会|来|才|先|即|去|直接|好|可以|能|给您|帮您|为您|替您|给你|帮你|为你)+(?!{_ZH_INFORM})"
_ZH_WILLING = r"(?:同意|确认|确定|没问题|没意见|没有问题|没有意见|无误|无异议|可以|ok|认可|点头|愿意|说行|放心|合适|满意|接受|批准|授权|答应|行|好)"

_ZH_ASKS = _any(
    rf"(?:可以|可否|能否|能不能|可不可以|是否|要不要|需不需要|要|需要|想|愿意|同意|确认|确定|能|可)[^,。?;!]{{0,12}}?(?<!什么){_ZH_DEED}[^,。?;!]{{0,20}}(?:吗|么|\?|不\?|没\?)",
    rf"(?:是否|要不要|能不能|可不可以|可否|能否)[^,。?;!]{{0,12}}?{_ZH_DEED}",
    rf"(?:那|我|现在|这就)[^,。?;!]{{0,8}}{_ZH_DEED}[^,。?;!]{{0,10}}(?:了|啦|咯|喽|哈|吧|哦|喔)?\?",
    r"(?:请|麻烦|烦请|劳烦|需要|等|待|还请|望)(?:您|你)?(?:的|再|先|务必|点击|帮忙|尽快|这边|核对并|核对后|看后|给)*(?:确认|同意|授权|批准|审批|点头|答复|拍板|许可|首肯|回复|指示|放行)(?![^,。?;!]{0,6}(?:地址|手机|电话|姓名|日期|时间|数量|尺码|颜色|几|哪|什么|多少))",
    rf"(?:回复|回个|回一个|回我|回|输入|发送|发|打|说声|说|扣|点击|点一下|点|按|敲|选择)(?:一下|一个|个|下)?{_ZH_YES}",
    r"说一声|吱一声|点个头|点头|给个话|给个准话|一句话|发句话|言语一声",
    rf"{_ZH_WILLING}(?:的话|后|之后|以后|了|,|就)[^。?!;]{{0,12}}?{_ZH_PENDING}",
    rf"(?:等|待)(?:您|你)[^。?!;]{{0,12}}?(?:再|就|才){_ZH_DEED}",
)
_ZH_ACCEPTED = _any(
    r"(?:可以|行|好|成|ok|没问题|同意|确认|中|妥|如何|怎么样|没意见|合适|满意|接受)(?:吗|么|嘛|不|吧|否)?\?",
    r"(?:可以|行|好|成|ok|没问题|同意|没意见|合适|接受)(?:吗|么|嘛|不)$|好不好|行不行|可不可以|成不成|您看(?:可以|行|呢)|意下如何",
)
_ZH_VERIFIED = _any(r"(?:对|没错|正确|无误|是)(?:吗|么|吧)\??$|对不对|是不是")
_ZH_REPORTED = re.compile(
    r"已经?(?:为您|帮您|给您|替您)?[^,。?;!]{0,8}(?:好|成功|完成|了|提交|取消|预订|下单)|(?:订|下单|取消|提交|办|改|换|退)(?:好|成功)了"
)

#: Words of others, and what was agreed before.
_QUOTED = re.compile(r"\"[^\"]{12,}\"|「[^」]{8,}」|『[^』]{8,}』")
_BEFORE = re.compile(
    r"\b(?:you|you've|you have) (?:already |just |also |earlier )*(?:confirmed|agreed|approved|said|told|gave|given|asked|authori[sz]ed|okayed)[^,;.?!]*"
    r"|\bthank(?:s| you) for [^,;.?!]*"
    r"|(?:您|你)(?:已经?|刚才?|之前|上次|此前|方才)[^,;。?!]*|感谢(?:您|你)的?[^,;。?!]*"
)
#: What holds for everybody and always asks nobody now.
_GENERAL = re.compile(
    r"\b(?:always|never|policy|policies|usually|normally|customers?|generally|in general|any (?:order|booking|change|payment)|every (?:order|booking|change|time))\b"
    r"|任何|一般|通常|规定|政策|每次|一律|用户|客户|凡是|从不|绝不"
)
_WHICH = re.compile(r"\b(?:what|which|when|where|who|how (?:many|much|long|far|can|may|should|do)|whose)\b[^,;:.?!]*$")
_DETAIL = re.compile(r"哪|几|什么|多少|谁|怎么(?!样)|提供|告知|告诉|还是")
_CHOICE = re.compile(r"\bor\b(?! (?:not|leave|wait|hold|change|cancel|would|do|is|should i (?:wait|hold)|no\b))")


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
        if _GENERAL.search(sentence):
            continue
        if (
            _asks(sentence)
            or ((pending or not done) and (_EN_ACCEPTED.search(sentence) or _ZH_ACCEPTED.search(sentence)))
            or (pending and (_EN_VERIFIED.search(sentence) or _ZH_VERIFIED.search(sentence)))
        ):
            found.append(number)
    return frozenset(found)


def _asks(sentence: str) -> bool:
    english = any(
        not _WHICH.search(sentence, 0, one.start()) and not _CHOICE.search(sentence, one.start())
        for one in _EN_ASKS.finditer(sentence)
    )
    return english or any(not _DETAIL.search(one[0]) for one in _ZH_ASKS.finditer(sentence))


def _plain(sentence: str) -> str:
    return _BEFORE.sub("", _QUOTED.sub('""', sentence))


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
