"""Ways to refuse in Dutch."""

from workbench.components.answering.refusal_patterns.clauses import ANY, READ, RULES, not_located, within

SOURCES = {
    READ: (
        r"passages?|fragment(?:en)?|context|document(?:en)?|tekst(?:en)?|bron(?:nen)?|pagina(?:'s)?|alinea(?:'s)?|zoekresultaten|artikel(?:en|s)?|stukken|materiaal|"
        r"handboek|handleiding|gids|folder|faq|wiki|kennisbank|bedrijfsdocumenten|pdf(?:'s)?"
    ),
    RULES: r"reglement|rapport|beleid|contract|paragraaf|hoofdstuk",
}
_NOT = r"\b(?:niet|niets|geen|nergens|noch)\b"
_SAYS = (
    r"(?:vermeld(?:t|en)|noem(?:t|en)|zeg(?:t|gen)|beschrijf(?:t)|beschrijven|specificeer(?:t)|behandel(?:t|en)|bespree?k(?:t|en)|ga(?:at|an)|meld(?:t|en)|"
    r"geef(?:t)|geven)"
)
_SAID = r"(?:vermeld|genoemd|aangegeven|besproken|behandeld|beschreven|gespecificeerd|beantwoord|toegelicht|gegeven|gevonden)"
_INFO = rf"(?:informatie|gegevens|antwoord|details|vermelding|verwijzing|info|{READ})"
_IN = rf"(?:in|uit|op basis van|met) (?:\w+ ){{0,2}}{READ}"
_OBLIGED = r"(?:moet|moeten|mag|mogen|hoef\w*|als|wij|uw)"

# A refusal has at least one of these words.
WORDS = r"\b(?:niet|niets|geen|nergens|noch|on\w+|te weinig|mis|valt buiten|zwijg\w+|ontbre\w+)\b"
CLEAR = (
    rf"\bik (?:weet|zie|vind|kan|kon)\b{within(50)}{_NOT}(?=$|{within(40)}\b(?:antwoord\w*|beantwoorden|zeggen|vinden|bepalen|wie|wat|wanneer|hoe|of|over|helpen)\b)",
    rf"\b(?:kan|kon) ik\b{within(40)}{_NOT}{within(20)}\b(?:antwoorden|beantwoorden|zeggen|vinden|bepalen|helpen)\b",
    rf"\bik mis\b{within(15)}\b(?:{READ}|{_INFO})\b|\bik ben niet in staat\b|\bmaa?kt?e?n? er geen melding van\b|\bwordt niet (?:gezegd|verteld)\b",
    rf"^(?:\w+ ){{0,2}}niet {_SAID}$",
    r"^(?:geen vermelding|(?:dat |het )?staat (?:er|hier) niet(?: in)?|weet ik niet)\b.{0,30}$",
    rf"\b(?:weet|vind|zie) ik\b{within(30)}{_NOT}|^(?:dat|dit) weet ik niet\b|\bzou ik niet weten\b",
    rf"\b(?:ik heb|heb ik|wij hebben|we hebben)\b{within(30)}(?:\b(?:geen|niet genoeg|onvoldoende|te weinig)\b{within(12)}\b{_INFO}\b|\b{_INFO}\b{within(12)}\bniet\b"
    rf"|\bniet {_IN}\b(?: gevonden)?)",
    rf"\b(?:die|deze|dat|de|het) {_INFO} heb ik niet\b|\b(?:daar|hier) heb ik (?:niets|geen \w+) over\b|^(?:ik heb )?geen (?:flauw )?idee\b",
    rf"\b{ANY}\b{within(20)}\b{_SAYS}\b{within(40)}{_NOT}",
    rf"\b{READ}\b{within(20)}\b(?:is|zijn|laat|laten|maakt|maken|volstaat|volstaan)\b{within(20)}\bniet (?:voldoende|genoeg|duidelijk|over uit|uit)?",
    rf"\bkan ik\b{within(40)}\bniet (?:bevestigen|nagaan|vaststellen)\b",
    rf"\b{READ}\b{within(20)}\b(?:bevat(?:ten)?|biedt|bieden)\b{within(10)}{_NOT}",
    rf"\b{READ}\b{within(10)}\bniet aan bod\b|\b(?:komt|komen)\b{within(40)}\bniet aan (?:bod|de orde)\b",
    rf"\bgeen (?:van de |enkel[e]? )(?:\w+ )?{READ}\b{within(10)}\b(?:{_SAYS}|bevat(?:ten)?)\b",
    rf"^er (?:is|zijn|wordt|worden|staat|staan)\b{within(20)}\bgeen (?:\w+ )?(?:informatie|antwoord|vermelding|verwijzing|info)\b",
    rf"^(?:geen|onvoldoende|niet genoeg|niet voldoende|te weinig) (?:\w+ )?(?:{_INFO}|resultaten|treffers)\b(?: (?:beschikbaar|gevonden|om te .{{1,30}}|in .{{1,40}}|over .{{1,40}}|hierover))*$",
    rf"^(?:{_INFO}|(?:die|deze|de) informatie|(?:het|dit) antwoord)(?: is| zijn)? (?:niet (?:gevonden|beschikbaar|vermeld|gegeven)|onvoldoende|ontbreekt|ontbreken)$",
    rf"^(?:niet|nergens) {_SAID}(?: in (?:\w+ ){{0,2}}{READ})?$|^(?:niet|nergens) in (?:\w+ ){{0,2}}{READ}$|^onbekend$",
    rf"\b(?:wordt|worden|is|zijn)\b (?:hier |daar )?(?:niet|nergens) {_SAID}(?:$|,| in (?:\w+ ){{0,2}}{ANY}\b)",
    rf"\b(?:staat|staan|blijkt|blijken|valt|vallen|is|wordt|komt)\b{within(20)}{_NOT} (?:\w+ )?(?:in|uit) (?:\w+ ){{0,2}}{ANY}\b",
    rf"\b{_IN}\b{within(30)}{_NOT}{within(20)}\b(?:op te maken|beantwoorden|antwoorden|af te leiden|te vinden|{_SAID}|staat|bepalen)\b",
    not_located(_NOT, rf"in (?:(?:de|het|deze|dit|die|mijn|verstrekte|gegeven|gevonden) )*{READ}", _OBLIGED),
    rf"\b(?:vraag|dit|dat) (?:kan|is|valt) {within(20)}\bniet {within(15)}\b(?:beantwoord|beantwoorden)\b",
    rf"\b(?:vraag|onderwerp)\b{within(10)}\bvalt buiten\b|^niets (?:hierover|daarover|over|in)\b.{{0,40}}$|\b{ANY}\b{within(10)}\bzwijg(?:t|en)\b",
)
BARE = (r"^niet (?:bekend|gevonden|beschikbaar)$",)
