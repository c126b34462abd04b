"""Whether an agent asks the user for its go-ahead, and whether the user gives it.

A request for a go-ahead has two halves: a form that wants an answer (a question, a request to reply, a condition that the user is to fulfil), and an act that
the agent has in mind, or nothing else that could be answered. A missing detail, a choice, an offer to look something up, a report and a policy have one half only.
Both languages are always looked for. All patterns meet folded text, and none looks further than the sentence that it is in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from .document import Document
from .fold import fold_phrase
from .names import lexicon_of
from .page import open_page
from .reader import read_names

_READ_CHARS = 20_000


class _Any:
    """Some patterns as one, compiled when a text is first looked through: most runs never ask for a go-ahead.

    Args:
        patterns: any of them is looked for.
    """

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile("|".join(self._patterns))

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)


# -- English -------------------------------------------------------------------------------------------------------------

_DONE = (
    r"(?:(?:re)?booked|reserved|(?:re)?ordered|bought|purchased|cancell?ed|rescheduled|refunded|(?:re)?submitted|placed|processed|confirmed|finali[sz]ed|changed|moved|paid|charged"
    r"|transferred|updated|deleted|removed|upgraded|renewed|scheduled|issued|swapped|published|deployed|completed|done|sent|replaced|switched|activated|locked in|put through|checked out|filed|sorted)"
)
#: What changes nothing when it is done: an offer or a question of these wants no go-ahead.
_INFORM = (
    r"(?:look|check(?! (?:you |it |them |this )?(?:in|out)\b)|search|find|show|tell(?! (?:them|him|her|the))|explain|compare|list|help|assist|suggest|recommend|see|know|ask|need|hear|read|browse|explore|describe"
    rf"|have(?! (?:it|them|this|that|the \w+|your \w+) {_DONE})|walk you|go (?:over|through|into)|pull up|dig|share|(?:give|send|get) you\b(?! (?:booked|on|in|sorted|a (?:replacement|refund|new|credit)))|get (?:your|an idea|some|back to)"
    r"|take (?:your|it (?:that|you))|double-check|verify|keep (?:looking|searching|you|an eye)|try (?:to find|another|again)|narrow|estimate|calculate|be|answer|clarify|assume|presume|understand"
    r"|do (?:any|some|more)|mention|remind|say(?! (?:yes|no))|expect|offer|provide|point|let (?:you|me)|call you|refer|interest|quote|wait|watch|note|start by|imagine|guess|respond|like|love|appreciate|want|guarantee|promise)"
)
_ADVERBS = r"(?:(?:just|now|then|please|also|still|simply|quickly|first|really|so|therefore|actually|instead|maybe|perhaps|go ahead and|proceed and) )*"
_ACT = rf"{_ADVERBS}(?!{_INFORM}\b)[a-z]"
#: Acts that a user who is asked for its own wish leaves to the agent.
_DEED = (
    r"(?:(?:re)?book|reserve|(?:re)?order|buy|purchase|cancel|reschedule|refund|return|exchange|replace|submit|send|place|proceed|go ahead|continue(?! (?:look|search|brows|chat|shop))"
    r"|go (?:for|with) (?:it|this|that|the)|go through with|move (?:forward|ahead|it|this|that|the)|charge|transfer|update|delete|remove|confirm|finali[sz]e|lock|process|file|upgrade|downgrade|activate"
    r"|deactivate|renew|schedule|issue|void|release|swap|publish|post|deploy|execute|complete|check ?out|carry on|make (?:the|this|that|these)|do (?:this|that|it|so)|get (?:it|this|that|going)"
    r"|put (?:it|this|that|the)|pay(?! (?:by|with|in)\b)|hold|switch|close|apply|commit|sign|approve|authori[sz]e|dispatch|ship|arrange|press on|go|accept|grab|set (?:it|this|that) up|take (?:it|this|that|the)|keep (?:it|this|that)|have (?:it|this|that|the))"
    r"(?! (?:any|another|something)\b)"
)
_GOOD = r"(?:ok|okay|alright|all right|fine|good|great|on board|certain|content|acceptable|agreeable|cool|suitable|satisfactory|work|suit(?: you)?|happy|fair|reasonable)"
_RIGHT = r"(?:right|correct|accurate|in order|as you (?:want|like)(?:ed)?|what you(?:'d| would)? (?:want|wanted|like|had in mind|meant))"
_IT = r"(?:that|this|it|(?:all )?(?:of )?(?:this|that|these|those|them|they)|the (?:above|plan|summary|order|booking|proposal|arrangement|change|total|itinerary|price|cost|fee|charge)s?|everything(?: above)?)"
#: What a user gives with its go-ahead; the second list needs a word of waiting before it.
_LEAVE = r"(?:go-?ahead|go ahead|green light|approval|permission|consent|authori[sz]ation|sign-?off|thumbs[- ]up|blessing|say-?so|ok|okay|nod|all[- ]clear|👍)"
_WORD = rf"(?:{_LEAVE}|confirmation|agreement|word|yes|decision|signal|instruction|final answer)(?! (?:number|code|e-?mail|letter|page|message|text|link|sms|id|slip|form|of (?:the|your)|screen)\b)"
_YES = r"(?:yes|y|ok|okay|okey|yep|yeah|sure|go(?: ahead| for it)?|confirm(?:ed)?|proceed|i agree|agreed?|approved?|i approve|do it|book(?: it)?|order(?: it)?|cancel it|accept|[\u2600-\u27bf\U0001f300-\U0001faff])"
_KEY = rf"(?:\"(?!(?:stop|help|more|info|menu|agent|no|cancel)\")[^\"]{{1,24}}\"|\W?{_YES}\b|[\u2600-\u27bf\U0001f300-\U0001faff])"
_CONSENT = (
    r"(?:agree|confirm(?! your\b)|approve|okay|ok|accept|consent|authori[sz]e|sign (?:it |this |that )?off|nod|object|say\b(?! (?:if|which|what))|tell me (?:yes|so|to|it|that|this|you|ok|go|otherwise)|reply|answer"
    r"|(?:give|send|drop)(?: me| us)? (?:a|an|the|your|me|us)|want (?:me|it|this|that|to)|like me|let me know|(?:are|'re|were|feel) (?:\w+ )?(?:happy|fine|ok|okay|good|ready|comfortable|sure|on board|cool|content|satisfied)"
    r"|have no objection|see no problem|don't mind|green-?light|wave (?:me|it)|nods?)"
)
_PENDING = (
    rf"\b(?:i|we)(?:'ll|'d| will| would| can| could|'m going to|'m about to| am going to| am about to|'m ready to| am ready to| plan to| propose to| intend to|'d like to| should| was going to) {_ACT}"
    rf"|\bready to {_DEED}\b|\b(?:like|want) me to {_ACT}|\bbefore (?:i|we) {_ACT}"
)
_WHEN = r"\b(?:if|once|when|whenever|as soon as|after|the moment|the minute|the second|provided|assuming|unless|until|till|so long as|as long as|upon|on)"
#: Where somebody is told to do something: at the beginning of a clause, or after a word of asking.
_DO = r"(?:^|[,;:.!(—-] ?|\b(?:please|pls|plz|kindly|just|simply|then|and|so|or|only|to|could you|can you|would you|will you|you(?: only| just)? need to|you to|have to do is|need to do is|need do is) )(?:please |pls |plz |just |simply |kindly |to )*"

_ASKS = _Any(
    # May I? Shall I book it?
    rf"(?<!nor )\b(?:shall|should|may|can|could|might|do|must|how about|what if|why don't|what about) (?:i|we) {_ACT}",
    r"\b(?:shall|should|may|can) (?:i|we) ?\?",
    rf"\b(?:am i|are we) (?:good|clear|free|ok|okay|authori[sz]ed|allowed|cleared|set|right|safe) to {_ACT}",
    rf"\b(?:ok|okay|alright|all right|fine|happy|good|mind|objections?|problem|comfortable|cool|acceptable)(?: with you| by you)? (?:if|for|to|with) (?:me|i|we|us|my|our)\b(?: to)? {_ACT}",
    rf"\bmind (?:(?:if (?:i|we)|me|my|us|our) {_ACT}|confirming|approving|okaying|authori[sz]ing|agreeing)",
    rf"^(?:permission|clear|clearance|approval|green light|go-ahead|ok|okay|alright|fine|happy|good|all right) (?:to|for) {_ACT}[^?]*\?",
    # Do you want me to? Would you like it booked? Do you want to go ahead?
    rf"\b(?:you|u|ya|that) \w+ (?:for )?(?:me|us) to {_ACT}[^?]*\?|^(?:want|like|need|happy for|ok for|okay for) (?:me|us) to {_ACT}[^?]*\?",
    rf"\b(?:want|like|wish|need) (?:these|those|this|that|it|them|this one|that one|both)(?: one| then| now)?\?|(?:^|[,;:—-] ?)(?!(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|for|with|about|in|on|at|to|from|by|of|like|and|or|but|same|got|all|any|need|if|not|so|then|did|was|remember)\b)[a-z]+(?: \w+)? (?:it|this|that|these|those|them|both|now|away)(?: (?:now|then|up|in|off|to the \w+|out|down|over|for you))?\?|\b(?:would|will|can|could) you (?:let|allow|permit) (?:me|us)\b|\b(?:want|like|wish|need) (?:it|this|that|them|both|these|(?:the|your|this|that|my) [^?.!,]{{1,40}}) {_DONE}\b[^?]*\?",
    rf"\b(?:(?:like|want|wish|care|happy|ready|okay|ok|willing|good|safe|set|cleared) to|wanna|let's) {_ADVERBS}{_DEED}\b[^?]*\?",
    r"\bare you (?:\w+ )?(?:sure|certain|positive)(?:\?|,| (?:you|about|that|this)\b)|\bstill (?:want|happy|ok|okay|good)\b[^?]*\?",
    rf"(?:^|[,;:—] ?){_ADVERBS}{_DEED}\b[^?,]{{0,60}}\?",
    # Do you agree? Do I have your OK?
    r"\bdo you (?:agree|approve|consent|accept|confirm|authori[sz]e|object|give (?:me )?your|have any objection|sign off)\b",
    rf"\b(?:do|can|could|may|might) (?:i|we) (?:have|get|take that as) (?:your|a|the|an) (?:\w+ )?{_WORD}\b",
    rf"\b(?:need|want|require|await|awaiting|wait(?:ing)? (?:on|for)|give (?:me|us)|get|pending|subject to|looking for|ask(?:ing)? (?:you )?for|request|with|on|upon|after|before|until|at|(?<!asked )for|of|missing is) (?:your|the|a|an|one) (?:\w+ )?{_WORD}\b",
    rf"(?<!have )(?<!got )(?<!had )(?<!received )(?<!per )(?<!following )(?<!asked for )(?<!given )\byour (?:\w+ )?{_LEAVE}(?! (?:was|has|number|code|on file)\b)\b",
    rf"\bhave your (?:\w+ )?{_LEAVE}\?",
    # Reply YES. Say the word. All I need is a nod.
    rf"{_DO}(?:reply|respond|answer|type|text|write|enter|say|hit|press|tap|click|push|choose|select|send|tell|give)(?: me| us)?(?: back)?(?: with| on| in)?(?: the| a| an| just| simply)?(?: word| button| \w+ button to)? {_KEY}(?! ?(?:for|if you (?:need|have)) )",
    rf"{_DO}(?:reply|respond|answer|type|text|enter|press|send)(?: me| back)?(?: with)? \W?\d\W? (?:to (?!speak|talk|see|hear|choose|pick|select|get|change|learn)|and |if you (?:agree|are happy|want me|approve)|if (?:that|this|it))",
    rf"\bto (?:{_DEED}|accept|agree)[^.?!;]{{0,20}}, (?:just |simply |please )*(?:reply|respond|answer|type|text|enter|press|send|say|tap|click)\b",
    rf"\b(?:a|an|one|your|the|quick|simple|single|just|only|all i need(?: now)?(?: from you)? is) (?:(?:a|an|your|simple|quick|plain|short|clear) )*(?:\"[^\"]{{1,24}}\"|\W?(?:{_LEAVE}|yes|go|word|👍)\b\W?(?! (?:number|code|from the))) ?[^.?!]{{0,40}}?(?:\band (?:i|we|it)|\b(?:will|would|'ll) (?:do|suffice|be enough)|\bis (?:enough|all|fine|needed|plenty)|'s all|\bi'll)",
    r"\ball (?:i|we) need(?: now)?(?: from you)?(?: now)? (?:is|are)(?: for)? (?:a|an|your|you|one|the|that)? ?(?:\w+ )?(?:\"|yes|ok|okay|go|word|nod|confirm|agree|say|thumbs|green|reply)",
    r"\b(?:say|give(?: me)?) (?:so|the (?:magic )?word)\b|\bsay when\b|\bmake it official\b",
    rf"{_DO}(?:let me know|tell me|shout|holler|give me a shout|give (?:it|me) a nod|nod|say so|say the word|wave)(?:,| and|, and| so)+ (?:(?:i|we)(?:'ll| will| can)|it|that|the|consider)",
    rf"\b(?:let me know|tell me|say|confirm|shout|holler)(?: if| whether| that| when| once)+ (?:{_IT}(?:'s| is|'re| are| looks?| sounds?| works?| seems?| suits)|all (?:is|looks)|you(?:'re| are) (?:\w+ )?{_GOOD}|(?:i|we) (?:can|should|may|am|have) {_ACT}|to {_DEED}|you (?:agree|approve|want (?:to {_DEED}|it|this|that)|'d like to {_DEED}|(?:want|would like) me to {_ACT})|you'd like (?:me to {_ACT}|to {_DEED}))",
    rf"\btell me (?:to {_DEED}|(?:it's|that's|this is|it is|you're|everything's) {_GOOD})",
    # Nod and I'll do it. If so, I'll do it.
    rf"{_DO}(?:say|tell|give|drop|press|tap|click|hit|push|type|text|send|reply|nod|shout|holler|wave|ping|wink|whistle|leave|write)\b(?![^.?!]{{0,40}}\b(?:your|which|what|when|where|how|who|whether|size|number|address|name|date|time|code|colou?r|details?|reference|photo|picture)\b)[^.?!]{{0,50}}?,? and (?:(?:i|we)(?:'ll| will| can) {_ACT}|(?:it|that|they|both)(?:'s| is| goes| leaves|'ll)|the \w+(?:'s| is| goes| leaves| ships)|[a-z]+'s yours|consider)",
    rf"\b(?:if|provided) (?:yes|so|ok|okay|agreed|approved|good|happy)\b[^.?!]{{0,20}}?(?:{_PENDING})",
    r"\b(?:thumbs[- ]up|one nod|one word|a nod|👍) (?:and|from you)\b",
    # I'd like to be sure that this is what you want.
    r"\b(?:want(?:ed)?|like|need|have) to (?:be (?:\w+ )?(?:sure|certain)|make sure|check|hear|double-check|confirm|verify|ask|run|clear)\b[^.?!]{0,40}?\b(?:you(?:'re| are| really| still)* (?:want|agree|happy|ok|okay|fine|sure)|this is|that's|it's|ok|okay|by you|with you|from you)\b",
    r"\b(?:checking|asking|double-checking)\b[^.?!]{0,40}\b(?:before (?:i|we)|first)\b|\b(?:your call|up to you now|over to you|the ball is in your court)\b",
    # A thumbs-up to freeze it. Let me know you're on board and I'll switch. Should it go out as is?
    rf"^[\u2600-\u27bf\U0001f300-\U0001faff] (?:to {_ACT}|and (?:i|we)'ll )",
    rf"\b(?:let me know|tell me) (?:that )?you(?:'re| are| agree)\b[^.?!]{{0,30}}\band (?:{_PENDING})",
    r"\bshould (?:it|this|that|they|these) (?:go|be)\b[^?]{0,40}\?",
    # Please confirm.
    rf"{_DO}(?:confirm|approve|authori[sz]e|agree|consent|sign off|ok(?= (?:this|it|that|the|so|and))|give (?:your )?consent)"
    rf"(?:$|[.!?;:)]|, (?:and|so|i'll|then)\b| (?:and|so|or|to|before|below|above|with|by|here|first|now|me|for me|this|that (?:you (?:want|would|agree|are (?:happy|ok|okay|fine))|you'd|this|i|we|the above)|you (?:want|agree|would)|you'd|you're (?:{_GOOD})|if (?:you (?:want|agree|would)|you'd|you're {_GOOD}|this|that|it|everything|i|all)"
    r"|whether (?:i|to|you (?:want|agree|would)|you'd)|it|these|those|(?:the|your) (?:\w+ )?(?:order|booking|purchase|cancellation|payment|reservation|change|return|exchange|refund|transfer|details above|above|following|request|total|summary|plan|consent|agreement|approval|decision|intent(?:ion)?)s?(?! (?:number|date|method|address|id|reference|reason|time)))\b)",
    # Once you agree, I'll book it. I'll book it once you agree. I won't before you say so.
    rf"{_WHEN} (?:you|you're|you've|you'd)\b[^.?!;]{{0,20}}?\b{_CONSENT}\b[^.?!;]{{0,60}}?(?:{_PENDING})",
    rf"{_WHEN} (?:{_IT}|everything|all)(?:'s| is|'re| are| looks?| sounds?| works?| suits(?: you)?| all)+,? ?(?:{_GOOD}|{_RIGHT})?[^.?!;]{{0,40}}?(?:{_PENDING})",
    rf"(?:{_PENDING})[^.?!;]{{0,80}}?{_WHEN} (?:you\b[^.?!;]{{0,20}}?{_CONSENT}|(?:that|this|it)(?:'s| is| looks| sounds| works)|i (?:hear|have|get)\b)",
    r"\b(?:n't|not|nothing|no|hold(?:ing)?|wait(?:ing)?|only|stays?|remains?|untouched|standing by|paused?)\b[^.?!;]{0,80}?\b(?:until|till|til|unless|before) (?:you(?:'ve| have|'re)?\b[^.?!;]{0,20}?"
    + _CONSENT
    + r"|i(?:'ve| have)? (?:hear|heard|have|get|got|see)\b|hearing (?:back )?from you)|(?:wouldn't|won't|don't|n't|not)\b[^.?!;]{0,60}?\b(?:until|till|unless|before) you(?:'ve| have|'re)?\b[^.?!;]{0,20}?"
    + _CONSENT,
)
#: Questions of acceptance: they ask for a go-ahead unless what they are about has been done.
_ACCEPTED = _Any(
    rf"(?:^|[,;:.!—-] ?|\b(?:and|so|but) )(?:is|are|would|will|does|do) {_IT}(?: be| look| sound| seem| all)* {_GOOD}\b[^?]*(?:\?|$)",
    rf"\bare you (?:\w+ )?(?:{_GOOD}|comfortable|satisfied|in)(?: (?:with|about|for) (?:all|any|that|this|it|these|those|the|everything|me|us|my|how)\b[^?]*)?\?",
    r"\bhow (?:does (?:that|this|it) (?:sound|look)|'s that|about it)|\bwhat do you say\b|\bany objections?\b|\byes or no\b|\by/n\b|\bworks? for you\?|\bor not\?",
)
#: A question of these words alone can be answered with nothing but a yes or a no.
_FUNCTION = r"(?:are|is|am|we|you|i|it|that|this|all|so|well|then|with|by|for|me|to|do|does|still|now|today|everything|just|please|or|be|a|the|your|on|in|up|and|have|us|at|both|here|there|one|these|ok with)"
_APPROVES = (
    r"(?:ok|okay|k|alright|fine|good|great|cool|happy|deal|agreed|agree|go|ahead|proceed|ready|yes|y|yeah|yep|yay|nay|n|game|on|set|sounds?|looks?|works?|light|green|thumbs|confirm|confirmed|approve|approved|shall|may|sure"
    r"|objections?|fair|enough|official|acceptable|clear|done|wise|no|keen)"
)
_BARE = re.compile(
    rf"(?:^|[,;:(—-] ?)(?:(?:{_FUNCTION}|{_APPROVES})[ /,]+){{0,6}}(?:{_FUNCTION}|{_APPROVES})\)? ?\?|\(?y/n\)?"
)
_APPROVING = re.compile(rf"\b{_APPROVES}\b")
#: Questions whether something is right: of an act that is pending only.
_VERIFIED = _Any(
    rf"\b(?:is|are|does|do) {_IT}(?: be| look| sound| seem| all)* {_RIGHT}\b[^?]*(?:\?|$)",
    rf"(?:^|[,;:—-] ?)(?:{_IT}|everything|all)(?: is| looks| there| above| still)* {_RIGHT}\?",
    r"(?:^|[,—-] ?)(?:is (?:that|this) )?(?:right|correct|yes|yeah|thoughts)\?|\bwhat do you think\b",
)
_REPORTED = re.compile(
    rf"\b(?:(?:i|we)(?:'ve| have)|has|have been|is now|are now|is|are) (?:\w+ )?(?:been )?{_DONE}\b|^{_DONE}[.!,:]|\b(?:is|are) yours\b"
)

# -- Chinese -------------------------------------------------------------------------------------------------------------

_ZH_INFORM = r"(?:查(?!收)|找|看看|看一|看下|搜|推荐|介绍|比较|对比|了解|解答|说明|讲(?!一声)|解释|列|问|知道|提供|告诉|帮到|帮您?忙|做些?什么|什么|留意|盯着|打听|联系您|提醒)"
_ZH_DEED = (
    r"(?:下单|下了|拍下|预[订定约]|订(?!单)|定下|定(?:了|这)|购买|买|取消|退(?!房|改)|改(?!规)|换|提交|支付|付款|付|缴|交费|扣款|扣|转账|转|发送|发(?!票|货|现)|寄|办|安排|执行|操作|继续|处理|确认(?!邮件|短信|码|函|单|信)"
    r"|更新|修改|删|开通|关闭|续(?!航)|升级|锁定|出票|申请|登记|注册|开始|打款|充值|挂(?:号|上|失)|冻结|叫车|派车|派|报名|撤|保存|添加|走流程|往下|进行|动手|推进|批准|授权|使用|用您|结账|结算|买单|点(?:一份|单|这)|抢|占|约(?!定俗|等|为))"
)
_ZH_GOOD = r"(?:可以|(?<![出旅步航同银飞骑])行|好|成|ok|没问题|同意|没意见|接受|满意|合适|妥|中|认可|没异议|得)"
_ZH_KEY = r"(?:一下|一个|一声|个|下)?(?:[^,。?;!\"]{0,6}(?:\"[^\"]{1,8}\"|按钮)|[(']?(?:1|是的|好的|可以|ok|yes|y|确认|同意|确定|继续|没问题|下单|(?:是|好|行|嗯|对|成)(?![\u4e00-\u9fff](?<![即就我后来以,]))|[A-Z1-9](?=之后|后|,?我))(?![.、]?选|[\u4e00-\u9fff]{0,2}(?:您|你)的|收货|地址))"
_ZH_PENDING = rf"(?:我们?|这边)(?:就|这就|马上|立刻|立即|现在|便|再|将|会|来|才|先|即|去|直接|打算|准备|想|好|可以|能|要|给您|帮您|为您|替您|给你|帮你|为你|按|把|一并|正式)++(?!{_ZH_INFORM})"
_ZH_WILLING = r"(?:同意|确认|确定|没问题|没意见|没异议|没有?(?:什么|别的|其他|其它|啥)?(?:问题|意见|异议)|没错|无误|无异议|可以|ok|认可|点头|愿意|说行|放心|合适|满意|接受|批准|授权|答应|行|好|拍板|发话|开口|吩咐|答复|回复(?!一下)|对(?!不起|方|面)|不介意|不反对|放话|要的话|要办|要订|要买|想好|定了)"
#: Who is told something by somebody else.
_ZH_OTHERS = r"(?:要求|提示|提醒|系统|页面|短信|邮件|弹出|银行|会员|让您|结账|付款|登录|乘客|顾客|客人|用户|客户|商家|卖家|老人家?|快递员|对方|室友|家人|他们?|她|谁|有人|很多人|里的?|规定|门店|需要本人|本人)"

_ZH_ASKS = _Any(
    # 要我现在下单吗? 我就订了?
    rf"(?:需要|要|要不要|用不用|可以|可否|能否|能不能|可不可以|是否|想|允许|同意|愿意|方便|介意|希望|准|放心|由|请|让)(?:让|由|要|需要)?(?:我|咱)们?(?!{_ZH_INFORM})[^,。?;!]{{1,30}}(?:吗|么$|嘛|不\?|\?)",
    rf"(?<!有没有)(?<!有没)(?:可以|可否|能否|是否|要不要|需不需要|要|需要|想|愿意|同意|确认|确定|能(?!不能)|可|允许|方便)[^,。?;!]{{0,12}}?{_ZH_DEED}[^,。?;!]{{0,20}}(?:吗|么|\?|不\?|没\?)",
    rf"(?:是否|要不要)[^,。?;!]{{0,12}}?{_ZH_DEED}|(?:能不能|可不可以|可否|能否)[^,。?;!]{{0,12}}?(?:我|帮|给|替|为|现在|就|这)[^,。?;!]{{0,12}}?{_ZH_DEED}|要不要(?:现在|马上|就|我)",
    rf"(?:^|[,。;:!])(?:那|我|现在|这就|就|是不是就|是不是|照旧|老样子)?(?!能不能|可不可以|能否|怎么|如何)[^,。?;!]{{0,8}}?(?:{_ZH_DEED}|[这那][么样][定办订]|照这个)[^,。?;!]{{0,10}}(?:\?|吗|么$)",
    rf"(?:{_ZH_DEED}|给您|帮您|替您|为您|我)(?!{_ZH_INFORM})[^,。?;!]{{0,20}}?(?<![您你]){_ZH_GOOD}的?(?:吗|么|嘛|不|吧|否)",
    r"(?:确定|确认)(?:吗|么|\?)|(?:确定|确认)(?:真的|还)?(?:要|想|继续|执行)[^,。?;!]{0,20}(?:吗|么|\?)|(?<!买)([退买办订换改要])不\1|还是(?:先|再|不|暂|等|留|算了)",
    # 请确认。等您点头。
    r"(?:请|麻烦|烦请|劳烦|需要|等|待|还请|望|只等|只差|就差)(?:着)?(?:您|你)?(?:的|再|先|务必|点击|帮忙|尽快|这边|最后|核对并|核对后|看后|给|一个|个|明确|一句|\")*(?:确认|同意|授权|批准|审批|点头|答复|拍板|许可|首肯|回复|指示|放行|批示|可以|准话|准信|回话|示下|定夺|发话)"
    r"(?=一?下?[^,。?;!]{0,3}(?:以上|上述|以下|下列|下面|是否要|是否同意|是否继续|无误)|(?![^,。?;!:]{0,12}(?:地址|手机|电话|姓名|日期|时间|数量|尺码|颜色|号码|卡号|单号|后四位|订单号|人数|邮箱|几|哪|什么|多少|是否)))",
    rf"(?<![无不][须需用必要])(?<![总师员理生士姐哥事们方人])(?:点选|告知|回复|回个|回一个|回我|回|输入|发送|发|打|说声|(?<![您你他她者])说(?!了|的|过)|讲|扣|点击|点一下|(?<![网站地几热早晚一二两三四五六七八九十0-9半])点|按|戳|敲|选择|勾选|跟我讲|跟我说|告诉我){_ZH_KEY}",
    r"(?<!人)说一声|讲一声|吱一声|言语一声|知会一声|点个头|点头|给个(?:话|准话|准信|答复|信)|就看您|[一句][句个]?准?话|发句话|拿个?主意|您说了算|听您的(?=[,。!?]|$|安排|吩咐)|由您(?:定|决定)|看您的意思|跟您商量|征求您的意见|(?:您|你)(?:来)?拍板|(?:听|看|等)(?:听|看)?(?:您|你)的意思|(?:得到|取得|征得|有)(?:您|你)[^,。?;!]{0,4}(?:首肯|同意|确认|许可|授权|点头)",
    r"(?:同意|确认|许可|认可|没问题|没意见|没异议|无误|没错|满意|接受|要办|要订|要买|想好|可以)(?:的话|后|之后|以后|了|,|就|请|麻烦|烦请)+(?:您|你)?(?:点|按|回|说|告|讲|知会|通知|吱)",
    # 您同意我就下单。
    rf"{_ZH_WILLING}(?:的话|后|之后|以后|了|,|就|请告诉我|一下|啦|\")*[^。?!;]{{0,12}}?(?:{_ZH_PENDING}|(?<=的话)我们?{_ZH_DEED})",
    r"(?:给|打|画|点|按|说|回|放|吭|递|竖|比|发|敲)(?:我|个|一|声|下|话|句)(?![^。?!;]{0,10}(?:时间|地址|号|码|电话|名|图|照片|日期|预算))[^。?!;,]{0,8},?我(?:这边)?(?:就|马上|立刻|立马|这就|即)",
    rf"(?:等|待)(?:您|你)[^。?!;]{{0,12}}?(?:再|就|才|后){_ZH_DEED}|(?:您|你)[^,。?!;]{{0,10}}(?:{_ZH_WILLING}|准话|的话)[^。?!;]{{0,8}}我[^,。?!;]{{0,10}}(?:才|再|就)[帮给为替您你]*+(?!{_ZH_INFORM})",
)
_ZH_ACCEPTED = _Any(
    rf"(?:^|[,。;:!~])(?:那|就|您|你|咱们?|看|觉得|说|这样|这么|这|以上|安排|处理|都|办|定|弄|做|来|的话|是不是|照|也|价格|方案|费用|这个)*{_ZH_GOOD}(?:的|了)?(?:吗|么|嘛|不|吧\?|否|\?|伐)",
    r"好不好|行不行|可不可以|成不成|中不中|(?:您|你)(?:看|觉得|说|认为|意下)(?:可以|行|呢|如何|怎么样|咋样)|意下如何|怎么说\?|可否\?",
)
_ZH_VERIFIED = _Any(r"(?:对|没错|正确|无误|是)(?:吗|么|吧)\??$|对不对|是不是|怎么样\?|如何\?")
_ZH_REPORTED = re.compile(
    r"已经?(?:为您|帮您|给您|替您)?[^,。?;!]{0,8}(?:好|成功|完成|了|提交|取消|预订|下单|妥当)|(?:订|下单|取消|提交|办|改|换|退|安排)(?:好|成功|妥)了"
)

# -- what is no request --------------------------------------------------------------------------------------------------------

#: A word to reply with that is set apart by capitals or emphasis.
_SET_APART = re.compile(
    r"(?i:\b(reply|respond|answer|type|text|write|enter|say|send|tap|press|click)((?: me| us)?(?: back)?(?: with)?)) (?:\*{1,2}([^*\n]{1,24})\*{1,2}|((?!PIN|PDF|ID|ZIP|CVV|OTP|STOP|HELP|SMS|I\b)[A-Z]{2,}(?: [A-Z]{2,})*)\b)"
)
_SINGLE = re.compile(r"(?<![a-z0-9])'([^'\n]{1,24})'(?![a-z0-9])")
_BRACKETS = str.maketrans(dict.fromkeys("【】「」『』《》", '"'))
#: Words of others, and what was agreed before.
_QUOTED = re.compile(
    r"\"[^\"\n]*\?\"|\"[^\"\n]{25,}\"|\"(?=[^\"\n]*[\u4e00-\u9fff])[^\"\n]{9,}\"|(?<=[您你]说)\"[^\"\n]{4,}\""
)
_BEFORE = re.compile(
    r"\b(?:you|you've|you have|he|she|they) (?:already |just |also |earlier )*(?:confirmed|agreed|approved|said|told|gave|given|asked|authori[sz]ed|okayed|wrote)\b[^,;.?!]*"
    r"|\bthank(?:s| you) for [^,;.?!]*"
    r"|(?:您|你|室友|他|她|客户)[^,;。?!\"]{0,4}(?:已经|刚才|刚刚|之前|上次|此前|方才|昨天|昨晚|早上|今早|前面|当时|曾|口头|说过)[^,;。?!\"]*(?:\"[^\"]*\"|[^,;。?!])*|(?:您|你)问[^,;。?!]*|感谢(?:您|你)的?[^,;。?!]*|谢谢(?:您|你)?的?确认|说过\"[^\"]*\"|(?:您|你)[^,。?!\"]{1,4}说\"[^\"]*\"|的\"[^\"]*\"|谢谢(?:您|你)愿意[^,;。?!]*|(?:总|经理|老师|先生|女士|同事|师傅)也?(?:说|回复|表示)[^。?!]*"
)
#: A policy, which holds for everybody and always, is no request.
_GENERAL = re.compile(
    r"\b(?:always|never|our policy|policy (?:is|says|requires|states)|policies|usually|normally|customers?|patients?|passengers?|guests?|people|generally|in general|any (?:order|booking|change|payment)|every (?:order|booking|change|time|patient)|if you need|should you need|any questions|asks? (?:you|every|all)|asking (?:you|every|all))\b"
    r"|任何|一般|通常|规定|政策|每次|一律|用户|客户|凡是|从不|绝不|乘客|随时(?:告诉|找|联系|问|来|跟|说|都可)|还可以|也可以帮|需要的话|如果需要|如有需要|有需要|如需"
)
_ANYTHING = re.compile(
    r"\b(?:anything(?! (?:until|till|before|unless|yet|without|now))|any (?:other|more|further|changes?)|something else|else)\b"
)
_WHICH = re.compile(r"\b(?:what|which|when|where|who|why|how|whose)\b[^,;:.?!—-]*$")
_DETAIL = re.compile(
    rf"哪|有没有(?!问题|意见|异议)|几(?!天后)|什么|多(?:少|大|长|高|重|远|久)|谁|怎么(?!样|说)|提供|告知(?!,我)|还是(?!先|再|不|暂|等|留|算)|说一下|原因|(?:再|先|帮您|给您|为您|替您|我|去|把[^,。]{{0,8}}|跟[^,。]{{0,8}}){_ZH_INFORM}|{_ZH_INFORM}[^,]*?{_ZH_DEED}[^,]*(?:吗|\?)|需要(?:修改|更改|调整|补充)|规则|(?:还有|还要|还需要|还想|需要)(?:其他|别的)"
)
_CHOICE = re.compile(
    r"\bor\b(?! (?:not|leave|wait|hold|change|cancel|would|do|is|keep|are you still|(?:press|reply|type|text|tap|hit) |should i (?:wait|hold)|no\b|nay|drop|skip|stop|pass|\S+ (?:to|for) (?:cancel|stop|decline|no|leave|change|drop|skip|keep)))"
)
_ZH_CHOICE = re.compile(r"还是(?!先|再|不|暂|等|留|算)")
_RESETS = re.compile(r"\bor\b|\bif not\b|\botherwise\b")
#: An agent that answers a question itself has not asked it.
_ANSWERED = re.compile(r"(?:yes|no|many|the answer|you can|you may)\b[^?]*$|(?:答|能|不能|可以|当然|不行)(?:[,:。]|的)")
_ZH_TOLD = re.compile(rf"{_ZH_OTHERS}[^,。;!?]*$")


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
    sentences = [_plain(document.words(span)) for span in document.sentences]
    whole = "\n".join(sentences)
    pending = re.search(_PENDING, whole) or re.search(_ZH_PENDING, whole)
    open_still = pending or not (_REPORTED.search(whole) or _ZH_REPORTED.search(whole))
    return frozenset(
        number
        for number, (sentence, following) in enumerate(zip(sentences, [*sentences[1:], ""], strict=True))
        if not _ANSWERED.match(following)
        and (
            _asks(sentence)
            or (open_still and _accepts(sentence))
            or (pending and (_VERIFIED.search(sentence) or _ZH_VERIFIED.search(sentence)))
        )
    )


def _accepts(sentence: str) -> bool:
    """Return whether a sentence can be answered with nothing but a yes or a no."""
    if _CHOICE.search(sentence) or _ZH_CHOICE.search(sentence):
        return False
    bare = any(_APPROVING.search(one[0]) for one in _BARE.finditer(sentence))
    return bare or bool(_ACCEPTED.search(sentence) or _ZH_ACCEPTED.search(sentence))


def _asks(sentence: str) -> bool:
    """Return whether a sentence asks for a go-ahead by its own words, and for nothing else in the same breath."""
    if _GENERAL.search(sentence) and not sentence.endswith(("?", "吗")):
        return False
    english = any(_is_request(sentence, one.start(), one.end()) for one in _ASKS.finditer(sentence))
    return english or any(
        not _DETAIL.search(one[0]) and not _ZH_TOLD.search(sentence, 0, one.start() + (one[0][0] in ",。;:!"))
        for one in _ZH_ASKS.finditer(sentence)
    )


def _is_request(sentence: str, start: int, end: int) -> bool:
    """Return whether a form of asking wants no detail, no choice and nothing that is left open."""
    before = _RESETS.split(sentence[:start])[-1]
    after = re.split(r"[,;?!]", sentence[end:])[0]
    around = f"{before}{sentence[start:end]}{after}"
    return not (_WHICH.search(before) or _CHOICE.search(sentence, start) or _ANYTHING.search(around))


def _plain(sentence: str) -> str:
    """Return a sentence folded, without emoji at its end, what others said, and what was agreed before."""
    apart = _SET_APART.sub(lambda found: f'{found[1]}{found[2]} "{found[3] or found[4]}"', sentence)
    folded = _SINGLE.sub(r'"\1"', fold_phrase(apart).translate(_BRACKETS))
    folded = _BEFORE.sub("", _QUOTED.sub('""', folded)).replace("请问", "")
    return re.sub(r"[\s~\u2600-\u27bf\U0001f300-\U0001faff]+$", "", folded) or folded


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
