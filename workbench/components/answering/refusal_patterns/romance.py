"""Ways to refuse in French, Spanish, Portuguese and Italian, which share a negation before the verb and a participle after the noun."""

from typing import NamedTuple

from workbench.components.answering.refusal_patterns.clauses import ANY, READ, RULES, not_located, silent_subject, within

SOURCES = {
    READ: (
        r"passages?|extraits?|contexte|documents?|textes?|sources?|pages?|paragraphes?|résultats|articles?|fragments?|matériel|guide|"
        r"manuel|brochure|notice|faq|wiki|base|pasajes?|fragmentos?|extractos?|contexto|documentos?|documentación|textos?|fuentes?|"
        r"páginas?|párrafos?|resultados|artículos?|materiales?|guía|manual|folleto|base de (?:conocimiento|datos)|passage[mn]s?|"
        r"trechos?|excertos?|extratos?|documentação|fontes?|parágrafos?|artigos?|materia(?:l|is)|guia|folheto|ficheiros|arquivos|livros|"
        r"passaggi(?:o)?|brani|brano|estratt[oi]|contesto|document[oi]|documentazione|test[oi]|font[ei]|pagin[ae]|paragraf[oi]|"
        r"risultati|articol[oi]|material[ei]|guida|manuale|opuscolo|archivi|base di conoscenza"
    ),
    RULES: (
        r"règlement|rapport|contrat|politique|section|chapitre|reglamento|informe|política|contrato|sección|capítulo|regulamento|"
        r"relatório|secção|seção|regolamento|rapporto|politica|contratto|sezione|capitolo"
    ),
}


class _Words(NamedTuple):
    """The words of a language in the patterns that all four share.

    `says` and `holds` are verbs of sources, `said` a passive, `info` nouns such as "answer", `none` a negated article. `auxiliary` are verbs after
    which a source is the object of a rule. `article` is what stands before a source.
    """

    negation: str
    info: str
    says: str
    holds: str
    said: str
    none: str
    auxiliary: str
    article: str = ""


def _shared(words: _Words) -> tuple[str, ...]:
    negation, info, says, holds, said, none, auxiliary, article = words
    return (
        silent_subject(rf"{article}{READ}", negation, auxiliary),
        rf"^(?:non c'è |no hay |não há |il n'y a )?{none} (?:{READ}|\w*data|dado|dato|donnée) (?:sobre|sur|su|pertinent|relevant|trouv|encontrad|trovat)\w*",
        rf"\b{ANY}\b{within(40)}{negation}{within(12)}\b{says}\b",
        rf"\b{READ}\b{within(40)}{negation}{within(12)}\b{holds}\b",
        rf"\b{ANY}\b{within(40)}{negation}{within(12)}\b{holds}\b{within(20)}\b{info}\b",
        rf"^(?:\w+['\s]){{0,2}}{none}\b{within(20)}\b{READ}\b{within(15)}\b(?:{says}|{holds})\b",
        rf"{negation}{within(25)}\b{said}(?:$|\b{within(30)}\b{ANY}\b)",
        rf"{negation}{within(40)}\b{info}\b{within(40)}\b{READ}\b",
    )


_FRENCH_INFO = r"(?:informations?|renseignements?|réponses?|données|détails?|précisions?|éléments?|indications?|mention|rien|trace|idée)"
_FRENCH_SAYS = (
    r"(?:mentionn\w+|préci\w+|dit|disent|parl\w+|abord\w+|indiqu\w+|évoqu\w+|spécifi\w+|répond\w*|trait\w+|expliqu\w+|permett?\w*|décri\w+|fait mention|"
    r"font mention)"
)
_FRENCH_SAID = r"(?:mentionn|précis|indiqu|abord|évoqu|spécifi|trait|fourni|donn|expliqu|décri|renseign)\w*"
_FRENCH_HOLDS = r"(?:contien\w+|comport\w+|couvert\w*|fourni\w+|donn\w+|inclu\w+|apport\w+)"
_FRENCH_KNOW = r"(?:répondre|dire|trouver|déterminer|confirmer|aider|savoir|renseigner)"
_FRENCH = (
    *_shared(
        _Words(
            r"\b(?:ne |n'|ne\b)",
            _FRENCH_INFO,
            _FRENCH_SAYS,
            _FRENCH_HOLDS,
            rf"(?:(?:pas|nulle part|jamais) (?:été )?{_FRENCH_SAID})",
            r"(?:aucune?|pas une?|nul)",
            r"(?:doi|peu|pouv|sont|est|était|étai|fu|ser|se (?!prononc)|s'|ont été|a été|faut|nécessit|exist|chang|serv|s'ouvr|dépass|vaut|valent)",
        )
    ),
    r"\b(?:je|on) (?:ne |n')(?:l'|le |la |les |\w+ )?(?:sais|sait|savons|trouve|trouvons|vois)\b(?: (?:pas|rien|nulle part|aucun\w*|malheureusement)\b|$)",
    r"\bje (?:ne |n')(?:ai |l'ai )(?:malheureusement )?(?:pas|rien|aucun\w*)? ?(?:trouvé|vu|aucun\w*|rien)\b",
    rf"\bje (?:ne |n')(?:peux|suis|saurais|pourrais)(?: malheureusement)?(?: pas)? (?:en mesure de |capable de )?(?:\w+ )?{_FRENCH_KNOW}\b",
    rf"\bje suis (?:incapable|dans l'impossibilité) de {_FRENCH_KNOW}\b",
    r"\bje (?:ne |n')(?:ai|dispose|possède)\b (?:malheureusement )?(?:pas|aucun\w*|rien)\b(?! (?:à|le droit|besoin)\b)",
    rf"\bnous (?:ne |n')(?:avons|disposons|trouvons)\b (?:pas|aucun\w*|rien)\b{within(20)}\b{_FRENCH_INFO}\b",
    r"\bn'est pas couverte? (?:par|dans) (?:\w+ )?qqr\b|\bfait mention nulle part\b|^(?:aucune mention|pas de mention|pas (?:mentionn|précis|indiqu|trait|abord)\w+|réponse introuvable|introuvable|pas assez de (?:qqr|données|détails)|aucun (?:qqr) (?:pertinent )?(?:trouvé)?)\b.{0,30}$",
    rf"\bil me manque\b{within(15)}\b(?:{READ}|{_FRENCH_INFO})\b|\bon ne (?:précise|dit|mentionne|indique|sait)\b|^pas dans (?:\w+ )?{READ}$",
    rf"^(?:\w+ ){{0,2}}(?:non|pas) {_FRENCH_SAID}$",
    r"\bje l'ignore\b|\baucune idée\b|\bje n'en sais rien\b|\bon ne sait pas\b",
    rf"\b(?:ne|n') ?(?:figur\w+|appara\w+|se trouv\w+|ressor\w+|est|sont) (?:pas|nulle part)(?: \w+)? (?:dans|de|des|du|parmi) (?:\w+ ){{0,2}}{READ}\b",
    rf"\b(?:il n'y a|on ne trouve|il n'existe|je ne vois) (?:pas|aucune?|rien)\b(?: d')?{within(20)}\b(?:information|renseignement|mention|réponse|précision|indication)s?\b",
    not_located(
        r"\b(?:ne|n'|rien|aucune?|pas de|pas d')",
        rf"dans (?:(?:le|la|les|l'|ces|ce|cet|cette|mes|vos) ?)?(?:\w+ )?{READ}",
        r"(?:doit|doivent|peut|peuvent|faut|devez|pouvez|si)",
    ),
    rf"^(?:aucune?|pas d'|pas de |pas assez d'|pas assez de |plus de )\s?{_FRENCH_INFO}\b"
    r"(?: (?:n'est )?(?:disponibles?|trouvée?s?|fournie?s?|à ce sujet|sur .{1,40}|suffisante?s?|dans .{1,40}))?$",
    r"^(?:cette|l') ?information (?:n'est|n'a) pas (?:été )?(?:disponible|fournie|donnée|trouvée)(?: ici)?$",
    r"^(?:données|informations?|éléments|qqr|réponse) (?:insuffisante?s?|insuffisants?|introuvables?|indisponibles?|manquante?s?|absente?s?|non .{1,20})$",
    r"^non (?:mentionn|précis|indiqu|spécifi|abord|trait|renseign|document|communiqu)\w*(?: dans .{1,30})?$|^inconnue?$",
    rf"\b(?:question|sujet|cela) (?:dépasse|sort|est hors)\b{within(30)}\b(?:cadre|{READ})\b|^hors (?:du |de )(?:qqr|sujet|périmètre|champ)\b",
    r"\bimpossible d[e'] ?(?:répondre|dire|savoir|déterminer)\b|\bil n'est pas possible de (?:répondre|dire|savoir|déterminer)\b",
    r"^(?:il n'y a |je n'ai )?rien (?:\w+ )?(?:à ce sujet|là-dessus|sur ce (?:point|sujet)|à ce propos)\b|^rien (?:dans|sur) .{1,60}$",
    rf"\b{ANY}\b (?:reste|est|demeure|restent|sont) mue(?:t|ts|tte|ttes)\b",
)

_SPANISH_INFO = r"(?:información|informaciones|datos|respuestas?|detalles?|mención|menciones|referencias?|indicación|nada|registros|idea)"
_SPANISH_SAYS = (
    r"(?:mencion\w+|especific\w+|dicen?|habla\w*|trata\w*|aborda\w*|indica\w*|aclara\w*|explica\w*|responde\w*|permiten?|describe\w*|precisa\w*|se refiere\w*|"
    r"alude\w*)"
)
_SPANISH_SAID = r"(?:mencionad|indicad|especificad|tratad|abordad|descrit|explicad|aclarad|recogid|proporcionad)[oa]s?"
_SPANISH_HOLDS = r"(?:contien\w+|incluy\w+|ofrec\w+|proporcion\w+|recog\w+|aport\w+|cubren?)"
_SPANISH_KNOW = r"(?:responder|contestar|decir|determinar|encontrar|confirmar|ayudar|saber|aclarar)"
_SPANISH = (
    *_shared(
        _Words(
            r"\bno\b",
            _SPANISH_INFO,
            _SPANISH_SAYS,
            _SPANISH_HOLDS,
            rf"(?:(?:est[áa]n?|son|es|ha sido|aparece|viene) {_SPANISH_SAID})",
            r"(?:ning[úu]n[oa]?)",
            r"(?:deb|pued|pod|necesit|tien|hay|está|es\b|son\b|fue|ser|se (?!pronunci)|ha sido|han sido|exist|cambi|sirv|vale|cargan?|abren?|super)",
            r"(?:el|la|los|las|este|estos|estas|ese|esos|esas) (?:\w+ )?",
        )
    ),
    r"\bno (?:lo |la )?sé\b|\bno (?:lo )?sabría\b|\blo (?:desconozco|ignoro)\b|^falta (?:qqr|información)\b|\bno me consta\b|^desconozco\b|\bni idea\b|\bno tengo (?:ni |la menor )?idea\b",
    rf"\bno (?:puedo|soy capaz de|me es posible|he podido|pude|logro|consigo) (?:\w+ )?{_SPANISH_KNOW}\w*\b",
    rf"\bno podemos {_SPANISH_KNOW}\w*\b",
    r"\bno (?:lo |la )?(?:encuentro|he encontrado|encontré|veo|hallo)\b",
    rf"\bno (?:tengo|dispongo de|disponemos de|cuento con|contamos con)\b{within(30)}\b{_SPANISH_INFO}\b",
    r"^(?:sobre|acerca de) (?:eso|esto|ello|\w+ \w+) no (?:tengo|hay|encuentro|dicen?|consta|se dice)\b",
    rf"\bno (?:aparecen?|constan?|figuran?|está|están|se (?:encuentra|menciona|indica|recoge|especifica|dice|aborda|trata))\b(?: \w+)? (?:en|entre|de) (?:\w+ ){{0,2}}{READ}\b",
    r"\bno se (?:menciona|indica|especifica|trata|aborda|precisa|aclara|dice)n?(?:$| (?:aquí|en ningún \w+|nada|quién|cuándo|cómo|cuánto|dónde|si|qué)\b)",
    r"\b(?:no hay|no existe|no se encuentra|sin|ninguna) (?:\w+ )?(?:información|respuesta|mención|mencion|referencias?|datos)\b"
    r"(?: (?:disponibles?|al respecto|suficientes?|sobre .{1,60}|en .{1,60}|acerca .{1,60}))*$",
    not_located(
        r"\b(?:no|nada|ning[úu]n[oa]?)\b",
        rf"en (?:(?:el|la|los|las|este|estos|estas|mis) )?{READ}",
        r"(?:debe\w*|puede|pueden|hay que|tiene que|si)",
    ),
    rf"\bme falta\w*\b{within(15)}\b(?:{READ}|{_SPANISH_INFO})\b|\bno estoy en condiciones de\b|\bno se (?:desprende|deduce|infiere) de\b",
    rf"^(?:\w+ ){{0,2}}no {_SPANISH_SAID}$|^no en (?:\w+ )?{READ}$|\bno se dice\b",
    r"^no (?:aparece|figura|consta|lo (?:dice|menciona|indica)|se sabe)$|^ninguna mención\b.{0,40}$",
    r"^(?:datos|información|qqr|informaciones|respuesta) (?:insuficientes?|no (?:encontrad|disponible|especificad|proporcionad)\w*|inexistentes?)\b.{0,40}$",
    r"^no (?:mencionad|especificad|indicad|tratad|consta|disponible|documentad|encontrad)\w*(?: en .{1,30})?$|^(?:desconocid[oa]|sin respuesta)$",
    rf"\b(?:pregunta|tema|eso|esto)\b{within(20)}\b(?:fuera d|excede|rebasa)\w*{within(25)}\b(?:alcance|{READ})\b",
    rf"\bno (?:es posible|se puede) {_SPANISH_KNOW}\w*\b(?! (?:al|a la|a los)\b)|^imposible {_SPANISH_KNOW}\b",
    rf"\b(?:esa|esta|la) (?:información|respuesta)\b{within(10)}\bno\b",
    rf"^nada (?:sobre|acerca de|al respecto|en)\b.{{0,40}}$|\b{ANY}\b{within(10)}\b(?:guarda silencio|calla|nada dice)\b",
)

_PORTUGUESE_INFO = r"(?:informaç(?:ão|ões)|dados|respostas?|detalhes?|menç(?:ão|ões)|referências?|indicaç(?:ão|ões)|nada|ideia)"
_PORTUGUESE_SAYS = r"(?:mencion\w+|especific\w+|diz|dizem|fala\w*|trata\w*|aborda\w*|indica\w*|esclarece\w*|explica\w*|responde\w*|permite\w*|descreve\w*|refere\w*|cita\w*)"
_PORTUGUESE_SAID = r"(?:mencionad|indicad|especificad|tratad|abordad|descrit|explicad|esclarecid|referid|fornecid)[oa]s?"
_PORTUGUESE_HOLDS = r"(?:contém|contêm|inclu\w+|oferece\w*|fornece\w*|traz\w*|cobrem?)"
_PORTUGUESE_KNOW = r"(?:responder|dizer|determinar|encontrar|confirmar|ajudar|saber)"
_PORTUGUESE = (
    *_shared(
        _Words(
            r"\bnão\b",
            _PORTUGUESE_INFO,
            _PORTUGUESE_SAYS,
            _PORTUGUESE_HOLDS,
            rf"(?:(?:est[áã]o?|são|é|foi|vem) {_PORTUGUESE_SAID})",
            r"(?:nenhuma?)",
            r"(?:dev|pod|precis|tê?m|há|está|é\b|são\b|foi|for|ser|se (?!pronunci)|exist|mud|serv|val|carreg|abr|exced)",
        )
    ),
    r"\bnão (?:o )?sei\b|\bnão saberia\b|^(?:desconheço|ignoro|falta (?:qqr|informação))\b|\bnão faço (?:a menor )?ideia\b|\bnão tenho (?:a menor )?ideia\b",
    rf"\bnão (?:posso|consigo|sou capaz de|me é possível|foi possível|pude|consegui) (?:\w+ )?{_PORTUGUESE_KNOW}\w*\b",
    r"\bnão (?:o |a )?(?:encontro|encontrei|vejo|achei)\b",
    rf"\bnão (?:tenho|disponho de|dispomos de)\b{within(30)}\b{_PORTUGUESE_INFO}\b",
    r"^(?:sobre|acerca de) (?:isso|isto|\w+ \w+) não (?:tenho|há|encontro|consta)\b",
    rf"\bnão (?:aparecem?|constam?|figuram?|está|estão|se encontra|é mencionado|é tratado)\b(?: \w+)? (?:em|n[oa]s?|de|d[oa]s?) (?:\w+ ){{0,2}}{READ}\b",
    r"\bnão se (?:menciona|indica|especifica|trata|aborda|diz)m?$|\bnão (?:há|existe)m? (?:\w+ )?(?:informaç\w+|menção|resposta|referência|dados)\b",
    not_located(
        r"\b(?:não|nada|nenhuma?)\b",
        rf"(?:em|n[oa]s?|nest[ea]s?) {READ}",
        r"(?:deve\w*|pode|podem|é preciso|tem de|se)",
    ),
    r"^(?:sem|nenhuma) (?:informaç\w+|resposta|menção)\b(?: (?:sobre|n[oa]s?|em|disponíve|suficiente|a respeito|encontrad).{0,40})?$",
    rf"\bfalta(?:-me|m-me)\b{within(15)}\b(?:{READ}|{_PORTUGUESE_INFO})\b|\bnão estou em condições de\b|\bnão (?:resulta|decorre|se deduz) d[oae]s?\b",
    rf"^(?:\w+ ){{0,2}}não {_PORTUGUESE_SAID}$|^não n[oa]s? {READ}$|\bnão se diz\b|^sem {_PORTUGUESE_INFO}(?: disponíve\w+)?$",
    r"^não (?:aparece|figura|consta|diz|menciona|se sabe)$|^nenhuma menção\b.{0,40}$",
    r"^(?:dados|informaç\w+|qqr|resposta) (?:insuficientes?|não (?:encontrad|disponíve|especificad|fornecid)\w*|inexistentes?)\b.{0,40}$",
    r"^não (?:mencionad|especificad|indicad|tratad|consta|disponível|abordad|documentad|encontrad)\w*(?: n[oa]s? .{1,30})?$|^(?:desconhecid[oa]|sem resposta)$",
    rf"\b(?:pergunta|tema|questão|isso)\b{within(20)}\b(?:fora d|excede|ultrapassa)\w*{within(25)}\b(?:âmbito|escopo|{READ})\b",
    rf"\bnão é possível {_PORTUGUESE_KNOW}\w*\b(?! (?:ao|à)\b)|^impossível {_PORTUGUESE_KNOW}\b",
    rf"\b(?:essa|esta|a) (?:informação|resposta)\b{within(10)}\bnão\b",
    rf"^nada (?:sobre|acerca|a respeito|n[oa]s?)\b.{{0,40}}$|\b{ANY}\b{within(10)}\b(?:nada diz|nada dizem|silencia|é omisso|é omissa)\b",
)

_ITALIAN_INFO = r"(?:informazion[ei]|dati|rispost[ae]|dettagli(?:o)?|menzion[ei]|riferiment[oi]|indicazion[ei]|nulla|niente|idea)"
_ITALIAN_SAYS = (
    r"(?:menzion\w+|specific\w+|dice|dicono|parl\w+|tratt\w+|affront\w+|indica\w*|chiaris\w+|spieg\w+|rispond\w+|permett\w+|descriv\w+|cita\w*|precisa\w*|"
    r"accenn\w+)"
)
_ITALIAN_SAID = r"(?:menzionat|indicat|specificat|trattat|affrontat|descritt|spiegat|chiarit|citat|precisat)[oaie]"
_ITALIAN_HOLDS = r"(?:contien\w+|contengono|includ\w+|offr\w+|fornis\w+|riporta\w*)"
_ITALIAN_KNOW = r"(?:risponder|dir|determinar|trovar|confermar|aiutar|saper|stabilir)(?:e|lo|la|ti|le|vi)?"
_ITALIAN_IN = r"(?:in |nel |nell'|nella |nelle |nei |negli |dal |dalle |dai |dagli |dall'|tra |fra )"
_ITALIAN = (
    *_shared(
        _Words(
            r"\bnon\b",
            _ITALIAN_INFO,
            _ITALIAN_SAYS,
            _ITALIAN_HOLDS,
            rf"(?:(?:è|sono|viene|vengono|è stato) {_ITALIAN_SAID})",
            r"(?:nessun[oa]?|alcun[oa]?)",
            r"(?:dev|può|poss|pot|necessit|occorr|è\b|sono\b|fu|sar|si (?!pronunci)|vien|veng|vann|esist|cambi|serv|val|apr|super)",
        )
    ),
    r"\bnon (?:lo )?so\b|\bnon (?:lo )?saprei\b|\blo ignoro\b|^manca(?:no)? (?:il |le )?(?:qqr|informazioni)\b|\bnon ne ho (?:la minima |alcuna )?idea\b|^nessuna idea\b",
    rf"\bnon (?:posso|riesco a|sono in grado di|sono riuscit[oa] a) (?:\w+ )?{_ITALIAN_KNOW}\b|\bnon posso aiutar\w+\b",
    r"\bnon (?:lo |la )?(?:trovo|ho trovato|vedo)\b",
    rf"\bnon (?:ho|dispongo di|disponiamo di)\b{within(30)}\b{_ITALIAN_INFO}\b",
    r"^(?:su|riguardo a) (?:questo|ciò|\w+ \w+) non (?:ho|c'è|trovo|risulta)\b",
    rf"\bnon (?:compa(?:re|iono)|risulta(?:no)?|figura(?:no)?|appa(?:re|iono)|è|sono|viene|si trova(?:no)?)\b(?: \w+)? (?:in |nel |nell'|nella |nelle |nei |negli |tra |fra )"
    rf"(?:\w+ ){{0,2}}{READ}\b",
    rf"\bnon (?:risulta|emerge|si evince)(?:no)? {_ITALIAN_IN}(?:\w+ ){{0,2}}{READ}\b",
    r"\bnon si (?:menziona|indica|specifica|tratta|parla|dice)(?:$| (?:mai|chi|quando|come|quanto|dove|se)\b)"
    r"|\bnon (?:c'è|ci sono|esiste|esistono) (?:\w+ )?(?:informazion\w+|menzione|risposta|riferiment\w+|dati)\b",
    not_located(
        r"\b(?:non|nulla|niente|nessun[oa]?)\b",
        rf"(?:nel |nell'|nella |nelle |nei |negli |in questi |in queste ){READ}",
        r"(?:deve|devono|può|possono|bisogna|se|occorre)",
    ),
    r"^(?:nessun[ao]?|senza) (?:informazion\w+|risposta|menzione|dato|riferimento)\b"
    r"(?: (?:su|sul|sulla|al riguardo|in|nel|nelle|nei|disponibil|trovat|sufficient).{0,40})?$",
    rf"\bmi manca(?:no)?\b{within(15)}\b(?:{READ}|{_ITALIAN_INFO})\b|\bnon (?:si ricava|si deduce|si desume|emerge) d\w+\b|\bnon si dice\b",
    rf"^(?:\w+ ){{0,2}}non {_ITALIAN_SAID}$|^non n\w+ {READ}$",
    r"^non (?:compare|figura|risulta|lo (?:dice|menziona)|si sa)$|^nessuna menzione\b.{0,40}$",
    r"^(?:dati|informazion\w+|qqr|risposta) (?:insufficient[ei]|non (?:trovat|disponibil|specificat|fornit)\w*|mancant[ei])\b.{0,40}$",
    r"^non (?:menzionat|specificat|indicat|trattat|disponibil|affrontat|documentat|pervenut|trovat)\w*(?: n(?:el|ei|ella|elle|egli)\b.{1,30})?$|^(?:sconosciut[oa]|senza risposta)$",
    rf"\b(?:domanda|argomento|ciò)\b{within(20)}\b(?:esula|fuori|va oltre|eccede)\b{within(25)}\b(?:ambito|{READ})\b",
    rf"\bnon è possibile {_ITALIAN_KNOW}\b(?! (?:al|alla)\b)|^impossibile {_ITALIAN_KNOW}\b",
    rf"\b(?:quest'|questa|la) ?(?:informazione|risposta)\b{within(10)}\bnon\b",
    rf"^(?:niente|nulla) (?:su|al riguardo|in merito|nel|nella|nei)\b.{{0,40}}$|\b{ANY}\b{within(10)}\b(?:tac(?:e|ciono)|non dice nulla)\b",
)

# A refusal has at least one of these words.
WORDS = (
    r"\b(?:ne|pas|aucune?|rien|nul|non|no|não|nada|ning[úu]n\w*|nenhuma?|nessun\w*|niente|nulla|ni idea|sin|sem|senza|ignor\w+|desconh?[eo][cçz]\w+|insu\w+|"
    r"introuvable\w*|inconnu\w*|indisponible\w*|inexistente\w*|incapable|imposs\w+|hors|dépasse|sort|muet\w*|fuera|excede|rebasa|calla|silen\w+|fora|"
    r"ultrapassa|omiss[oa]|esula|fuori|oltre|eccede|tace|tacciono|mancant[ei]|sconosciut[oa]|falta\w*|manca|mancano|manque|manquante?s?|absente?s?)\b|\bn'|l'ignore"
)
CLEAR = (*_FRENCH, *_SPANISH, *_PORTUGUESE, *_ITALIAN)
BARE: tuple[str, ...] = ()
