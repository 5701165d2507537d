"""Ways to refuse in German."""

from workbench.components.answering.refusal_patterns.clauses import ANY, READ, RULES, not_located, within

SOURCES = {
    READ: (
        r"seiten?|passagen?|textstellen?|(?:text)?ausz[uü]ge?n?|auszug|dokumente?n?|dokuments|kontexts?|texte?n?|quellen?|unterlagen|abschnitte?n?|handbuchs?|"
        r"material(?:ien)?|fundstellen?|wissensdatenbank|artikeln?|suchergebnisse?n?|leitfaden|anleitung|broschüre|merkblatt|wiki|faq|textstücken?|"
        r"(?:den|diesen) (?:angaben|informationen|daten)"
    ),
    RULES: r"richtlinien?|berichts?|vertrag|regelung|ordnung",
}
_NOT = r"\b(?:nicht|nichts|keine?[nrsm]?|keinerlei|nirgends|nirgendwo|weder)\b"
_SAYS = (
    r"(?:erwähn(?:t|en)|nenn(?:t|en)|sag(?:t|en)|beschreib(?:t|en)|spezifizier(?:t|en)|behandel(?:t|n)|erläuter(?:t|n)|erklär(?:t|en)|thematisier(?:t|en)|"
    r"beantworte(?:t|n)|geh(?:t|en)|äußer(?:t|n)|verrät|schreib(?:t|en)|gibt|geben)"
)
_SAID = (
    r"(?:erwähnt|genannt|angegeben|behandelt|beschrieben|thematisiert|besprochen|erläutert|erklärt|beantwortet|aufgeführt|spezifiziert|ausgeführt|angesprochen|"
    r"dokumentiert)"
)
_FIND = r"\b(?:beantworten|finden|sagen|entnehmen|erkennen|angeben|nennen|feststellen|ermitteln|helfen|beurteilen|hervor|ableiten|vergleichen|bestimmen|sehen)\b"
_HELD = r"(?:enthalten|zu finden|finden|findet|steht|stehen|aufgeführt|vorhanden|zu lesen|die rede|rede|hinweise?|ersichtlich|gefunden)"
_INFO = rf"(?:informationen|information|infos?|angaben?|auskunft|auskünfte|daten|aussagen?|antwort|hinweise?|details|aufschluss|{READ})"
_OBLIGED = r"(?:muss|müssen|darf|dürfen|soll|sollen|brauch\w*|wenn|falls|weitergegeben|wir|ihre[nrm]?)"

# A refusal has at least one of these words.
WORDS = r"\b(?:nicht|nichts|kein\w*|nirgend\w*|weder|fehl\w+|un\w+|ungenügend\w*|zu wenig|schweig\w+|offen|überfragt|k\. ?a)\b"
CLEAR = (
    rf"\bich\b{within(40)}{_NOT}{within(60)}{_FIND}",
    rf"\b(?:ich|wir) (?:kann|können|konnte|konnten)\b{within(60)}{_NOT}{within(60)}{_FIND}",
    rf"\b(?:kann|konnte|können|konnten) (?:ich|wir)\b{within(80)}{_NOT}{within(60)}{_FIND}",
    r"^(?:das |dazu |hierzu )?kann(?: ich)? (?:leider )?nicht (?:sagen|beantworten|finden)\b",
    rf"\b(?:ich|wir) (?:weiß|weiss|wissen|finden?|sehe)\b{within(40)}{_NOT}",
    rf"\b(?:weiß|weiss|finde|finden|sehe) (?:ich|wir)\b{within(40)}{_NOT}",
    rf"\b(?:ich habe|habe ich|wir haben|haben wir|mir|uns|dazu|hierzu|darüber|hierüber)\b{within(30)}\b(?:keine|keinerlei|nicht genug|zu wenig|nichts)\b"
    rf"{within(30)}(?:{_INFO}|gefunden|zu finden|bekannt|passend)",
    rf"\b(?:mir|uns|hier|es|dazu) (?:fehlen|fehlt)\b{within(20)}\b{_INFO}\b|^(?:fehlen|fehlt)\b{within(20)}\b{_INFO}\b",
    rf"\b{ANY}\b(?:(?!\b(?:sie|ihr|man)\b)[^.;:]){{0,60}}\b{_SAYS}\b{within(30)}{_NOT}",
    rf"\b{ANY}\b{within(40)}\b(?:enthält|enthalten|liefer(?:t|n)|biete(?:t|n)|mach(?:t|en)|geben|gibt)\b{within(15)}{_NOT}{within(30)}\b{_INFO}\b",
    rf"\b(?:enthält|enthalten|liefert|bietet)\b (?:\w+ ){{0,3}}{READ} (?:dazu |darüber )?{_NOT}",
    rf"\b{READ}\b{within(50)}\b(?:die antwort|darauf|dazu|darüber|davon|hierzu|die frage|das)\b{within(20)}{_NOT}",
    rf"\b(?:dazu|darüber|hierzu|davon|das|darauf|es)\b{within(20)}\b(?:steht|stehen|findet|finden|sagt|sagen|ist|wird|schweigt|schweigen|geht|gehen)\b{within(40)}"
    rf"(?:{_NOT}{within(40)}\b{ANY}\b|\b{ANY}\b{within(40)}{_NOT})",
    rf"\b(?:in|im|aus|laut|anhand|auf grundlage|mit)\b (?:\w+ ){{0,4}}{READ}\b{within(60)}{_NOT}{within(40)}(?:{_FIND}|{_SAID}|{_HELD})",
    rf"\b(?:in|im|aus)\b (?:\w+ ){{0,4}}{ANY}\b{within(40)}\b(?:steht|stehen|findet|finden|gibt es|geht|gehen|ist|wird|werden|lässt|lassen)\b{within(40)}"
    rf"{_NOT}{within(40)}(?:{_FIND}|{_SAID}|{_HELD}|dazu|darüber|$)",
    rf"\b(?:dafür |dazu )?(?:fehlt|fehlen) (?:mir|uns|hier)\b{within(20)}\b{_INFO}\b|\bwird (?:hier |dort )?nicht (?:gesagt|verraten)$",
    not_located(
        _NOT,
        rf"(?:in|im|aus)\b (?:(?:den|dem|der|diesen|diesem|dieser|gegebenen|gefundenen|vorliegenden|bereitgestellten|genannten) )*{READ}",
        _OBLIGED,
    ),
    rf"\b(?:im|in) (?:\w+ ){{0,3}}{ANY}\b{within(40)}\b(?:dazu|darüber|hierzu|davon)\b{within(10)}{_NOT}",
    rf"\bweder\b{within(60)}\b{READ}\b{within(10)}{_HELD}",
    rf"\b(?:findet|finden) sich (?:\w+ )?(?:keine?|keinerlei) (?:\w+ )?{_INFO}\b",
    rf"\b{READ}\b{within(30)}\b(?:reich(?:t|en)|ist|sind|genüg(?:t|en))\b{within(40)}\bnicht (?:aus|ausreichend|genug)?\b(?! (?:beglaubigt|gültig|unterschrieben))",
    rf"\b(?:äußer(?:t|n)|sagt|sagen|nenn(?:t|en)) (?:sich )?(?:\w+ )?{ANY} (?:dazu )?(?:nicht|nichts)\b",
    rf"^es gibt\b{within(40)}\bkein(?:e|en|erlei)? (?:\w+ )?(?:hinweise?|informationen|angaben|antwort|erwähnung)\b",
    rf"\bkeine?[rs]? (?:der|dieser|von den|einzige) (?:\w+ ){{0,3}}{READ}\b{within(40)}\b{_SAYS}\b",
    rf"\bkeine? (?:\w+ )?{READ}\b{within(10)}\b{_SAYS}\b",
    rf"\b(?:wird|werden|ist|sind)\b{within(30)}\bnicht (?:\w+ )?{_SAID}$",
    rf"^(?:nirgends |nicht |nirgendwo ){{1,2}}{_SAID}$",
    rf"\b(?:wird|werden|ist|sind) (?:hier |dort )?nicht {_SAID},",
    rf"\b(?:frage|thema|das|punkt) (?:kann|lässt sich|ist|wird|geht)\b{within(80)}\bnicht (?:\w+ )?(?:beantworte[nt]|behandelt|entnehmen|sagen|beantwortbar|hervor)\b",
    rf"\b{ANY}\b{within(40)}\bschweig(?:t|en)\b|\bschweig(?:t|en)\b{within(30)}\b{ANY}\b",
    rf"\b(?:bleibt|bleiben)\b{within(20)}\b{READ}\b (?:offen|unklar)\b|\blässt\b{within(30)}\boffen$",
    r"\bhier steh(?:t|en)\b(?: \w+)? (?:nicht|nichts|keine?)\b|\b(?:hier|dazu|davon|darüber) (?:nicht|nichts) zu finden\b|\bsteht (?:hier|da|dort) (?:nicht|nichts)\b",
    rf"^(?:zu wenig|nicht genug|nicht genügend|nicht ausreichend|unzureichende?r?|ungenügende|keine|keinerlei)(?: \w+)? (?:{_INFO}|ahnung|treffer|ergebnisse?|{READ})"
    rf"(?: (?:gefunden|dazu|hierzu|vorhanden|verfügbar|möglich|zu \w+|über \w+|dazu))*$",
    rf"^(?:(?:diese|die|solche) )?{_INFO} (?:nicht \w+|unzureichend|fehlen|fehlt)$",
    r"^(?:weiß|weiss) (?:ich )?(?:leider )?(?:auch )?nicht$",
    r"^(?:keine erwähnung|fehlanzeige|nicht (?:ersichtlich|drin|enthalten)|(?:das )?(?:steht|wird|ist) (?:\w+ )?nicht (?:drin|erwähnt|genannt))$",
    r"^(?:unbekannt|unklar|nicht bekannt|k\. ?a|nicht beantwortbar)$|\bkeine ahnung\b|\bkeinen schimmer\b|\büberfragt\b",
    r"\bkeine aussage\b|\blieg(?:t|en) (?:\w+ ){0,3}keine(?:rlei)? (?:\w+ )?(?:informationen|angaben|daten|hinweise)\b",
)
BARE = (
    r"^nicht (?:bekannt|gefunden|verfügbar|vorhanden)$",
    rf"^(?:diese|die|solche) {_INFO} (?:ist|sind) (?:hier )?nicht (?:bekannt|verfügbar|vorhanden|enthalten)$",
)
