"""Ways to refuse in English."""

from workbench.components.answering.refusal_patterns.clauses import ANY, CONTEXT, LOOKED_UP, MANUAL, READ, RULES, SHOWN, not_located, within

SOURCES = {
    CONTEXT: r"contexts?",
    READ: (
        r"passages?|chunks?|excerpts?|extracts?|snippets?|paragraphs?|documents?|docs?|sources?|search results|texts?|materials?|pages?|articles?|files?|folder|"
        r"knowledge base|corpus|my set|(?<=among )mine|(?<=in )mine|the (?:information|content|text|data) (?:provided|given|available|supplied|retrieved)|"
        r"(?:(?:the )?(?:provided|given|supplied|retrieved)|the available) (?:information|content|data|material)|"
        r"(?:what|anything|ones?|stuff|things?) (?:that )?i(?:'ve| have| was| can see| got)?(?: got)?"
    ),
    MANUAL: (
        r"(?:handbook|manual|guide|guidelines|guidebook|wiki|faq|documentation|notes|minutes|leaflet|brochure|booklet|instructions|transcript|memo|syllabus)s?"
        r"(?! dog| override)"
    ),
    RULES: (
        r"polic(?:y|ies)|report|paper|contract|agreement|terms(?! of)|section|chapter|book|regulations?|rules|statement|letter|e-?mail|announcement|act|form|"
        r"table|website|procedures"
    ),
}
_DET = (
    r"(?:(?:the|this|these|those|any|either|my|our|your|its|all|each|of|provided|given|supplied|available|retrieved|uploaded|attached|current|above|company|"
    r"source) )*(?:\w+ )?"
)
_IN = rf"(?:in|within|from|among|on|across|by) {_DET}"
_INFO = (
    rf"(?:information|info|details?|data|{CONTEXT}|evidence|answers?|mentions?|references?|knowledge|guidance|entry|entries|particulars|specifics|indication|"
    r"clue|record|word)"
)
# What people ask for, where "no evidence" or "no data" may be a finding of a study.
_ASKED_FOR = rf"(?:information|info|details?|answers?|mentions?|guidance|{CONTEXT}|content|knowledge)"
_SAY = (
    r"(?:mention|say|describe|state|specify|explain|address|answer|discuss|tell|touch|speak|talk|indicate|name|clarify|disclose|define|elaborate|reveal|"
    r"settle|refer|comment|go into|get into|deal with|list|outline|note|identify)"
)
# Of rules and reports: "the report does not list any injuries" is a fact.
_STATE = r"(?:mention|say|describe|state|specify|explain|address|discuss|touch|speak|talk|indicate|clarify|disclose|define|elaborate|refer|comment|settle|go into|get into|deal with)"
_HANDLED = (
    r"(?:need|require|have to|has to|open|load|work|print|expire|exist|arrive|change|fit|matter|count|allow|permit|oblige|apply|affect|prevent|replace|extend|reach|"
    r"leave|start|begin|agree|differ|look|use|want|like|belong|go (?!there)|come (?!up))"
)
_HOLD = r"(?:contain|include|cover|provide|give|come up|appear|show|have(?! to\b)|hold|offer|reach|set|help|relate|support|allow (?:a|any|me|us)|permit (?:a|any|me|us))"
_SAID = (
    r"(?:mentioned|discussed|specified|stated|addressed|documented|indicated|described|explained|answered|named|touched on|touched upon|dealt with|settled|"
    r"clarified|referenced|referred to|identified|spelled out|elaborated)"
)
_HELD = (
    r"(?:covered|included|given|provided|contained|found|listed|available|shown|present|to be found|disclosed|recorded|written|part of|something|anything|supplied|"
    r"retrieved|there)"
)
_KNOW = r"(?:find|see|answer|say|tell|determine|locate|verify|confirm|establish|infer|conclude|derive)"
_DO = rf"(?:{_KNOW}|settle|work (?:it|that|this) out|rank|compare|name|judge|help|provide|advise|point|assist|comply|discuss|explain|do (?:that|this))"
_UNABLE = r"(?:can(?:no|')t|cannot|can not|couldn't|could not|won't be able to|(?:am |are |was |were |'m |'re )?(?:unable|not able|not in a position|incapable of) ?(?:to)?)"
_ADVERB = r"(?:(?:\w+ly|really|even|ever|also|yet|been|anywhere|at all) )*"
_NOT = r"(?: not|n't|n’t| never| nowhere)"
_IS_NOT = rf"\b(?:is|are|'s|'re){_NOT} {_ADVERB}"
_WAS_NOT = rf"\b(?:is|are|was|were|'s|'re|has been|have been){_NOT} {_ADVERB}"
_DOES_NOT = rf"(?<!that )(?<!which )\b(?:do|does|did|can){_NOT} {_ADVERB}(?:(?:appear|seem) to )?"
# No other subject between a source and its verb, as in "documents that you do not mention".
_OF_SOURCE = (
    r"(?:(?!\b(?:we|they|he|she|must|should|may|might|if|that (?!were|was|are|is|i|you)|which|who|you (?!(?:have )?(?:provided|gave|given|shared|uploaded|"
    r"sent|attached|supplied)))\b)[^.;:]){0,60}"
)
_NOTHING = r"(?:nothing|nobody|no one|none|neither|nowhere|not a (?:single )?(?:word|thing|mention|line)|not one|no \w+|zero|(?:not|n't) (?:any|a|an|one|see|find|seen|found|have|there)\b)"
_OBLIGED = r"(?:must|should|may|need|needs|have to|has to|allowed|permitted|required|forbid\w*|forbidden|prevents?|requires?|if|please|valid|accepted|rejected)"
_END = r"(?: (?:here|anywhere|there|at all|explicitly|directly|so far|though|specifically|sorry|either))*$"
_TOPIC = rf"(?:this |that |the |your )?(?:\w+ )?(?:topic|question|subject|point|answer|information|info|details?|{CONTEXT}|data|content)"

# A refusal has at least one of these words.
WORDS = (
    r"n't\b|\b(?:no|not|nobody|none|nothing|neither|nowhere|never|cannot|unable|incapable|impossible|hard|difficult|zero|lacks?|omits?|missing|absent|lacking|"
    r"outside|beyond|out|insufficient|inadequate|too little|unclear|vague|un\w+|indeterminate|silent|leaves?|skips?|only|solely|merely|stops?|ends?|fails?|pass|inconclusive|idk|dunno|"
    r"beats me|search me|who knows|i wish|blank|at a loss|different|another|other|something else)\b|n/a"
)
CLEAR = (
    # The speaker cannot or does not know.
    rf"\bi ?{_ADVERB}{_UNABLE} {_ADVERB}{_DO}\b",
    rf"\bi {_ADVERB}(?:couldn't|can't|could not) (?:really )?(?:tell|say)\b",
    r"\bi (?:could |can |did )?(?:find|found|see|saw) no\b",
    rf"\bwe ?{_ADVERB}{_UNABLE} {_ADVERB}{_KNOW} (?:it|that|this|any|anything|your|the answer|an answer|{_INFO})\b",
    rf"^(?:(?:looked|searched|checked)\b.*)?\W*(?:can(?:no|')t|cannot|could not|couldn't) {_ADVERB}{_DO}\b(?! out)",
    rf"^(?:unable|not able|impossible|not possible|hard|difficult) to (?:{_KNOW}|help|assist|provide|comply)\b",
    rf"\bi(?:'ve| have)? (?:looked|searched|checked|read|went)\b{within(60)}(?:\bno\b|\bnothing\b|\bnot\b|n't\b|\bcannot\b)",
    rf"\bi ?{_ADVERB}(?:do not|don't|did not|didn't|haven't|have not) {_ADVERB}(?:know|see|find|recall|found|seen|come across)\b",
    rf"^(?:haven't|have not|didn't|did not|don't|do not) {_ADVERB}(?:see|seen|find|found) (?:\w+ )?(?:any|anything|it|that|this|one)\b",
    rf"\bwe (?:do not|don't) {_ADVERB}know(?:$| (?:that|this|about)\b)",
    r"^(?:honestly,? )?(?:don't|do not|dunno|didn't) (?:really )?(?:know)?(?:$| (?:that|this|about|what|when|where|who|why|how|if|whether)\b)",
    r"\bi (?:currently )?(?:(?:do not|don't) have|have not got|haven't got|lack|neither have)\b(?! (?:to|my|an? \w+ card)\b)",
    r"\bwe (?:(?:do not|don't) have|have not got|haven't got|lack|have no) (?:\w+ ){0,3}(?:information|info|details?|data|answers?|records?|knowledge)\b",
    rf"\bi(?: have|'ve)(?: got)? no (?:\w+ ){{0,2}}(?:{_INFO}|way of|idea|clue)\b",
    r"\b(?:i|we)(?:'ve| have| see| find| found| know|'ve got| was given| were given| got)* nothing (?:\w+ )?(?:on|about|for|to)\b",
    rf"\bi was(?:n't| not) (?:given|provided|shown)\b{within(20)}\b(?:anything|{_INFO})\b",
    r"\bi(?:'m| am) not (?:really )?(?:sure|certain|aware)\b|\bi wish i knew\b|\bdraw(?:ing)? a blank\b|\bi(?:'m| am) at a loss\b",
    r"^(?:not sure|no idea|no clue|idk|beats me|not that i (?:know|can see|could find|am aware)|search me|who knows|haven't a clue)\b",
    r"\b(?:i|we) (?:really |honestly )?(?:have|haven't) (?:any |no |the faintest |a )(?:idea|clue)\b",
    rf"\bmy (?:\w+ )?(?:{LOOKED_UP}|knowledge|training data) (?:stops?|ends?|only)\b",
    rf"\b(?:information|that|this|it|answer)\b{within(10)}(?:is not|isn't) (?:something )?(?:that )?i have\b",
    # A source does not say.
    rf"\b{ANY}\b{within(20)}\bnever {_STATE}(?:s|es)?\b",
    rf"\b{SHOWN} (?:\w+ )?(?:(?:is|are) about|only concerns?|concerns? only|(?:is|are) (?:only )?concerned with) (?:an?other|something else|an? (?:\w+ )?different|other)\b",
    rf"\b{LOOKED_UP}\b{within(20)}\b(?:contains?|has|have|records?|gives?) no \w+ (?:on|about) (?:this|that|it)\b",
    rf"\b{SHOWN} (?:lacks?|omits?)\b|\b{ANY} leaves? open\b",
    rf"\bthere (?:isn't|is not|aren't|are not) (?:sufficient|enough) {_INFO}\b",
    rf"^(?:no|zero) (?:\w+ )?{SHOWN} (?:on|about|for|regarding) (?:this|that|it|the)\b{within(20)}$",
    rf"\b{ANY}\b{_OF_SOURCE}{_DOES_NOT}{_STATE}\b",
    rf"\b{LOOKED_UP}\b{_OF_SOURCE}{_DOES_NOT}{_SAY}\b",
    rf"\b(?:the|these|those|this|my|your|our|provided|given) (?:\w+ )?{SHOWN} (?:do|does){_NOT} {_ADVERB}(?!{_HANDLED})\w+",
    rf"\b{LOOKED_UP}\b{within(40)}\b(?:they|it) {_DOES_NOT}(?:{_SAY}|{_HOLD})\b|^it {_DOES_NOT}(?:say|mention|specify|state)$",
    rf"\b{SHOWN}\b{within(20)}\bno (?:great )?help\b|\bnothing (?:at all )?(?:on|about) (?:this|that|it)\b|\b(?:the foggiest|not written anywhere|n't written anywhere)\b",
    rf"^(?:based on|given|from) {_DET}(?:{SHOWN}|information)\b{within(60)}(?:\bnot|n't) (?:known|clear)$",
    rf"\b{SHOWN}\b{_OF_SOURCE}{_DOES_NOT}{_HOLD}\b",
    rf"\b{MANUAL} {_DOES_NOT}cover\b",
    rf"\b{ANY}\b{_OF_SOURCE}{_DOES_NOT}(?:{_HOLD}) (?:any |an? |enough |sufficient |much )?(?:\w+ ){{0,2}}(?:{_INFO}|{SHOWN}|{RULES})\b",
    rf"\b{LOOKED_UP}\b{_OF_SOURCE}\b(?:has|have|contains?|gives?|provides?|includes?|offers?) no (?:\w+ )?(?:figures?|{RULES}|{SHOWN}|dates?|numbers?|names?)\b",
    rf"\b{LOOKED_UP} (?:stops?|ends?) (?:at|before|with|in)\b",
    rf"\b{ANY}\b{_OF_SOURCE}\b(?:says?|contains?|gives?|provides?|has|have|offers?|makes?|holds?|includes?) (?:absolutely )?"
    rf"(?:nothing|no (?:\w+ ){{0,2}}{_INFO})\b",
    rf"\b{SHOWN} (?:\w+ )?(?:provides?|gives?|mentions?|states?|names?|offers?|lists?) (?:no|nothing)\b",
    rf"\b{ANY}\b{within(20)}\b(?:is|are|remains?) {_ADVERB}(?:silent|unclear|vague)\b|^{ANY} silent\b",
    rf"\b{ANY}\b{within(20)}\b(?:leaves?|skips?) (?:that|this|it|the \w+)\b(?: (?:open|unsaid|unanswered|out)\b|$)",
    rf"(?:\b{ANY} |^)(?:lacks?|lacking|omits?) (?:any |the )?(?:\w+ ){{0,2}}{_INFO}\b",
    rf"\b{SHOWN}\b{within(30)}\b(?:is|are|was|were)(?: not|n't) {_ADVERB}(?:relevant|about|related|helpful|useful|enough|sufficient)\b",
    rf"\b(?:{SHOWN}|information)\b{within(10)}\b(?:is|are) (?:insufficient|inadequate)\b",
    rf"\b{SHOWN}\b{within(20)}\b(?:only|solely|merely) (?:{_SAY}(?:s|es)?|covers?|contains?|deals? with|focus(?:es)? on|concerns?)\b",
    rf"^(?:does not|doesn't|do not|don't) {_ADVERB}(?:say|mention|specify|state)$|\b{ANY}\b{within(40)}\bfails? to {_SAY}\b",
    r"\b(?:does not|doesn't|do not|don't) say a word\b",
    # A topic is not in a source.
    rf"{_WAS_NOT}(?:{_SAID}|{_HELD})\b{within(60)}\b{_IN}{LOOKED_UP}\b",
    rf"{_WAS_NOT}(?:{_SAID})\b{within(60)}\b{_IN}{RULES}\b",
    rf"{_IS_NOT}(?:{_SAID}|(?<!by )in|anywhere in|part of) {_DET}{LOOKED_UP}\b",
    rf"(?:\bnot|n't) (?:{_SAID} |{_HELD} |known |anywhere |contained |visible |disclosed |that i can see )*{_IN}{LOOKED_UP}\b",
    rf"^not found in {_DET}{ANY}\b",
    r"(?:\bnot|n't) something (?:that )?(?:\w+ ){1,4}(?:talks?|says?|mentions?|answers?|covers?|discuss(?:es)?|goes|go|gets?)\b",
    rf"{_DOES_NOT}(?:{_SAY}|appear|come up)\b{within(40)}\b{_IN}{LOOKED_UP}\b",
    not_located(rf"\b{_NOTHING}", rf"(?:in|within|among|anywhere in) {_DET}{LOOKED_UP}", _OBLIGED),
    rf"\b(?:you )?(?:won't|will not|can't|cannot) find (?:that|this|it|any \w+|anything)\b{within(20)}\b{_IN}{LOOKED_UP}\b",
    rf"\b(?:missing|absent|lacking) (?:from|in) {_DET}{ANY}\b",
    rf"\b(?:outside|beyond|out of)(?: of)? (?:the scope of )?{_DET}(?:{LOOKED_UP}|my (?:\w+ )?knowledge|what i)\b",
    r"\b(?:question|topic|subject) (?:is |falls |lies )?(?:out of|outside|beyond)\b",
    r"^(?:out of scope|outside my knowledge|beyond my knowledge)$",
    # No passage says.
    rf"\b(?:none|neither|not one|not a single(?: one)?)(?: of)? {_DET}{SHOWN}\b{within(40)}\b(?:{_SAY}|{_HOLD})(?:s|es)?\b",
    rf"\bneither {_DET}{ANY} nor {_DET}{ANY} (?:{_SAY}|covers?|contains?|includes?)(?:s|es)?\b",
    rf"\b(?:none|neither)(?: of)? {_DET}{ANY}\b{within(30)}\b{_SAY}(?:s|es)?\b",
    rf"\bnone of {_DET}{SHOWN}(?:\b{within(30)}\b(?:relevant|about|helpful|useful|related)\b|$)",
    rf"\bno {_DET}(?:{ANY}\b{within(40)}\b{_SAY}|{SHOWN}\b{within(40)}\b(?:contain|cover|include))(?:s|es)?\b",
    rf"\bnothing in {_DET}{LOOKED_UP}\b{within(30)}\b(?:{_SAY}|{_HOLD}|about|on)(?:s|es)?\b",
    r"\bthere(?:'s| is|'re| are) nothing (?:\w+ )?(?:here|about|regarding|in here)\b",
    r"^nothing(?: (?:\w+ )?(?:on|about|regarding|concerning|here|found|relevant|useful|to be found)\b(?:\W*\w+){0,4})?$(?<!^nothing)|^nothing relevant$",
    r"^nothing (?:that )?i(?:'ve| have| can| was)\b",
    r"^(?:zero|no) mentions?\b|(?<!with )\bno mention (?:of|is made)\b",
    rf"^there (?:is|are|was|were) no (?:\w+ ){{1,3}}(?:{_SAID}|listed|given|described){_END}",
    # No or not enough information.
    rf"^(?:there(?:'s| is| are|'re) |has |with )?(?:no|zero|not any|insufficient|not enough|too little|inadequate|no such) (?:\w+ )?{_INFO}(?: (?:is|are|was|were))?"
    rf"(?: (?:available|found|given|provided|supplied|possible|here|at hand|present|retrieved))?{_END}",
    rf"\b(?:no|insufficient|not enough|inadequate|not sufficient) (?:\w+ )?{_ASKED_FOR} (?:about|on|regarding|concerning|relating to|related to|as to|whether|how|when"
    rf"|where|who|why|which|what|of|for|to)\b(?!{within(60)}\b(?:is|are|was|were|will|may) (?!available|given|found|provided|included|retrieved|{_SAID}))",
    rf"\b(?:no|insufficient|not enough) (?:relevant )?{_ASKED_FOR} (?:is|was|were|could be|has been) (?:available|found|given|provided|retrieved|located|made)\b",
    rf"\b(?:insufficient|not enough|no sufficient) (?:data|evidence|{_INFO})\b{within(40)}\b(?:to (?:answer|say|tell|respond)|in {_DET}{SHOWN})\b",
    r"^no (?:data|evidence|record) (?:on|about|regarding|for) (?:\w+ ?){1,3}$",
    rf"^(?:no|zero)(?: \w+)? (?:results?|hits?|matches|match|{SHOWN})(?: (?:were |was )?(?:found|returned|retrieved|matched)){_END}",
    rf"^(?:no|zero) (?:results?|hits?|matches|match|(?:relevant|matching|useful|suitable|such|\w+ing) {SHOWN}){_END}",
    rf"\bno answer (?:is |was )?(?:found|given|available|possible|in {_DET}{SHOWN})\b|^no answers?$",
    rf"^{_TOPIC}(?: (?:is|are|was|were))?(?: (?:not|never) {_ADVERB}(?:{_SAID}|{_HELD}|sufficient|enough|known|in)| missing| insufficient| lacking| unavailable"
    rf"| unknown| inadequate| absent)\b{within(30)}$",
    rf"^{_TOPIC}\b(?: \w+ed\b)? (?:could|can|was|were|is|are)(?: not|n't|not) (?:be )?(?:{_SAID}|{_HELD}|located|determined|possible|in)(?:{_END}| {_IN}{ANY}\b)",
    # It is not said: in the present, with nothing after it but what is asked.
    rf"{_IS_NOT}{_SAID}(?:{_END}| (?:who|what|when|where|which|why|how|whether|if|for)\b)",
    rf"^(?:not|never|nowhere) {_ADVERB}{_SAID}{_END}|\b(?:has|have)(?: not|n't) been (?:mentioned|specified|stated){_END}|{_DOES_NOT}be {_SAID}\b",
    r"\b(?:is|are|remains?|left) un(?:specified|mentioned|stated)\b",
    # It cannot be known.
    r"\b(?:it|this|that|question|answer|these) (?:can(?:no|')t|cannot|can not) be (?:read|answered|resolved|determined|found|settled|inferred|established|derived)\b",
    r"^(?:this |that )?(?:can(?:no|')t|cannot|can not) be (?:answered|determined|found|inferred|established)\b",
    rf"\b(?:can(?:no|')t|cannot|can not) be (?:answered|determined|inferred|established|derived|found|verified|read|seen)(?:$| (?:from|based on|using|with|in|on) {_DET}{ANY}\b)",
    r"\b(?:it is|it's) not possible to (?:answer|say|tell|determine)\b|^not possible to (?:answer|say|tell|determine)\b",
    r"^(?:it is |it's |that is |that's |this is )?(?:unclear|not clear|unknown|uncertain)(?:$| (?:from|in|based on) )",
    r"^(?:n/a|no answer|no comment|pass|no luck|not present|inconclusive|nothing there|(?:not enough|too little) to go on|unspecified|undetermined|indeterminate|unmentioned|not (?:answerable|determinable|mentionable))$|\bunanswerable\b",
)
# An answer to a question of yes or no, else a refusal.
BARE = (
    rf"^(?:not|never) {_ADVERB}(?:given|provided|available|known|found){_END}",
    rf"{_IS_NOT}given{_END}",
    rf"^(?:this|that|it) ?{_IS_NOT}(?:covered|included|listed|found){_END}",
)
