import ast
import base64
import codecs
import html
import json
import random
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from workbench.core.errors import ExperimentError, InputError, error_line
from workbench.core.text.printable import HIDDEN, environment_secrets, passwords_of, printable, printable_line, secrets_in, without_secrets
from workbench.core.text.terminal import say

PACKAGE = Path(workbench.__file__).parent
BIDI = [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
CONTROLS = [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *BIDI, 0xFFFE, 0xFFFF]


def test_every_control_character_becomes_visible() -> None:
    escaped = {code: chr(code).encode("unicode_escape").decode("ascii").replace("\\r", "\\x0d") for code in CONTROLS}
    assert {code: printable(f"a{chr(code)}b") for code in CONTROLS} == {code: f"a{shown}b" for code, shown in escaped.items()}
    assert [code for code, shown in escaped.items() if printable(shown) != shown] == []


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_a_line_is_one_line_that_every_terminal_can_encode(text: str) -> None:
    shown = printable_line(text)
    assert len(shown.splitlines()) <= 1
    assert not {ord(letter) for letter in shown} & set(CONTROLS)
    shown.encode("utf-8")


def test_layout_and_ordinary_text_of_every_script_stay() -> None:
    text = "a\tb\nauthorization failed: the token of the bearer is unknown\nnaïve 😀 👩‍👩‍👧 می‌خواهم שלום – “x” https://example.com/a?page=2&q=cats#top mail me@example.com"
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ftp://me:hunter2@host:21/a is down", "ftp://host:21/a is down"),
        ("'ftp://me:hun/ter2@host/a'", "'ftp://host/a'"),
        ("https://token@host/a", "https://host/a"),
        ("https://medium.com/@user", "https://medium.com/@user"),
        ("http://h/v1?token=hunter2&page=1", "http://h/v1?token=…&page=1"),
        ("http://h/v1?page=1&X-Amz-Signature=hunter2)", "http://h/v1?page=1&X-Amz-Signature=…)"),
        ("http://h/v1?API_KEY=hunter2#top", "http://h/v1?API_KEY=…#top"),
        ("{'Authorization': 'Bearer hunter2'}", "{'Authorization': 'Bearer …'}"),
        ("authorization: Basic aHVudGVyMg==", "authorization: Basic …"),
        ('"authorization": "hunter2"', '"authorization": "…"'),
        ("you sent Bearer hunter2.x-y", "you sent Bearer …"),
    ],
)
def test_secrets_in_text_are_left_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
    assert str(InputError(text, "try again")) == f"{shown}; try again"
    assert error_line(ValueError(text)) == f"ValueError: {shown}"
    assert ExperimentError(text, [text]).lines == [f"{shown}: {shown}"]


def test_a_known_secret_is_left_out_in_the_forms_that_urls_have() -> None:
    assert printable("key sk-a/b=c, sk-a%2Fb%3Dc", ["sk-a/b=c"]) == "key …, …"
    # A short one is replaced only as a word of its own.
    assert printable("/repos/a/b/trees about b_2", ["b"]) == "/repos/a/…/trees about …_2"
    assert printable("plain", [""]) == "plain"
    assert passwords_of("github://a:b@x?versionId=1&sig=c") == ["b", "c"]
    assert passwords_of("webdav://token@host/a") == ["token"]


def test_long_hostile_text_takes_no_time() -> None:
    dice = random.Random(0)
    parts = ["://", "?", "&", "key", "=", "@", ":", "bearer ", "authorization:", "'", "x", "\x1b"]
    for text in ("://" * 100_000, "?" + "key" * 100_000, "authorization" * 20_000, "".join(dice.choices(parts, k=200_000))):
        printable(text)


def test_everything_is_printed_by_two_functions() -> None:
    """So that nothing reaches a terminal past `printable`. retrieve.py is a program of its own, in an exported folder."""
    allowed = {"core/text/terminal.py", "core/text/progress.py", "api/export/retrieve.py"}
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {
                "print",
                "click.echo",
                "click.secho",
                "tqdm.write",
                "sys.stdout.write",
                "sys.stderr.write",
            }:
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found == allowed


def test_the_beginning_of_a_long_secret_is_left_out_too() -> None:
    secret = "sk-topsecret-ABCDEFG12345"
    assert printable(f"key {secret[:14]}**** is wrong", [secret]) == "key …**** is wrong"
    assert printable(f"key {secret} is wrong", [secret]) == "key … is wrong"
    assert printable("key sk-top is short", [secret]) == "key sk-top is short"


@pytest.mark.parametrize("length", [16, 600, 20_000])
def test_a_secret_of_any_length_is_left_out(length: int) -> None:
    secret = "".join(chr(97 + number * number % 26) for number in range(length))
    text = f"first {secret}, cut off {secret[:12]}… and again {secret}"
    assert printable(text, [secret]) == "first …, cut off …… and again …"


def test_a_secret_is_left_out_of_a_url_without_its_host() -> None:
    assert printable("Max retries exceeded with url: /v1?api_key=abcdefgh123") == "Max retries exceeded with url: /v1?api_key=…"


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60),
    st.text("abc 12\n", max_size=20),
    st.integers(0, 80),
    st.integers(12, 80),
)
def test_no_twelve_characters_of_a_secret_stay_in_a_reply_in_any_form(secret: str, around: str, start: int, length: int) -> None:
    # Of Base64, what depends on the secret alone.
    encoded = base64.b64encode(f"{around}{secret}{around}".encode()).decode()
    encoded = encoded[-(-8 * len(around) // 6) : 8 * (len(around) + len(secret)) // 6]
    for form in (secret, quote(secret, safe=""), secret[::-1], encoded, encoded.replace("+", "-").replace("/", "_")):
        part = form[start : start + length]
        kept = without_secrets({"a": [f"{around}{part}{around}", {f"{part}{around}{part}": 1}], "b": None}, [secret])
        windows = {form[place : place + 12] for place in range(len(form) - 11)}
        # A secret of words stays.
        windows = set() if re.fullmatch(r"[A-Za-z_.-]{,19}", secret) else windows
        assert not [window for window in windows for each in (kept["a"][0], *kept["a"][1]) if window in each]
        assert kept["b"] is None


def test_what_is_no_part_of_a_secret_stays() -> None:
    # Of other encodings nothing is known, such as this one.
    assert without_secrets(codecs.encode(SECRET, "rot13"), [SECRET]) == codecs.encode(SECRET, "rot13")
    kept = "key sk-proj-ab 1 of 3 true"
    assert without_secrets(kept, ["sk-proj-abcdefghijkl", "1", "", "tru"]) == kept
    assert without_secrets(("hunter2", "hunter22", 7), ["hunter2"]) == ("…", "hunter22", 7)


def test_secrets_of_the_environment_are_values_of_variables_with_such_names_that_are_no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "MY_KEY": "k7" * 6,
        "MY_TOKEN": "t" * 10 + "7",
        "KEY_FILE": "f7" * 10,
        "DB_PASSWORD": "p7" * 6,
        "SSH_KEY": "/home/me/.ssh/id_rsa",
    }
    values |= {
        "MY_KEY_2": "n7" * 6,
        "DB_URL": "db://me:u7u7u7u7u7u7@host/db",
        "CALL_TOKEN": "Bearer b7b7b7b7b7b7",
        "MODE_KEY": "administrator",
    }
    values |= {"DB_PASSPHRASE": "w7" * 6, "X_CREDENTIALS": "c7" * 6, "X_SECRET": "s7" * 6, "X_PWD": "d7" * 6}
    values |= {"ODD_KEY": "http://[::1", "PEM_KEY": "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----"}
    before = {*environment_secrets()}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    words = {value for value in {*environment_secrets()} - before if " " not in value and "\n" not in value}
    assert words == {"w7" * 6, "c7" * 6, "s7" * 6, "d7" * 6, "k7" * 6, "p7" * 6, "n7" * 6, "u7" * 6, "b7" * 6, "MIIEvQIBADANBg"}


SECRET = "sk-aB3/xY+9&zQ=7LmN0pQr"


def _each(form: str) -> str:
    return "".join(form.format(ord(character), character) for character in SECRET)


@pytest.mark.parametrize(
    "form",
    [
        SECRET.upper(),
        quote(SECRET, safe="").lower(),
        quote(quote(SECRET, safe=""), safe=""),
        json.dumps(SECRET).replace("/", r"\/").replace("+", r"\u002B"),
        json.dumps(json.dumps(SECRET)),
        html.escape(SECRET),
        _each(r"\u{0:04x}"),
        _each(r"\x{0:02x}"),
        _each("&#{0};"),
        _each("&#x{0:X};"),
        _each("={0:02X}"),
        _each("{1}\u200b"),
        _each("{1}\u00ad"),
        _each("{1} "),
        _each(r"\{1}"),
        SECRET[:11] + "\n" + SECRET[11:],
        re.sub("(?<=^.{11})", "\n", base64.b64encode(SECRET.encode()).decode()),
        SECRET.encode().hex(),
        SECRET.encode().hex(":").upper(),
    ],
)
def test_an_escaped_or_divided_secret_is_left_out(form: str) -> None:
    kept = without_secrets(f"the key {form} is wrong", [SECRET])
    left = re.sub("[^0-9a-z]", "", kept.lower())
    folded = re.sub("[^0-9a-z]", "", form.lower())
    assert kept.startswith("the key ")
    assert kept.endswith(" is wrong")
    assert HIDDEN in kept
    assert not [
        place
        for place in range(len(folded) - 11)
        if folded[place : place + 12] in left and "h4eHh4".lower() not in folded[place : place + 12]
    ]


def test_a_key_that_is_a_word_a_path_or_an_address_does_not_destroy_replies() -> None:
    reply = (
        "None, EMPTY or ollama: lm-studio, not-needed; an administrator of production at port 8080, "
        "/srv/docs/a.md of https://docs.example.com/a"
    )
    words = ["None", "EMPTY", "ollama", "lm-studio", "not-needed", "administrator", "production", "8080"]
    assert without_secrets(reply, words) == reply
    assert [secrets_in(value) for value in ("/srv/docs", "https://docs.example.com/", "~/a", "production")] == [[], [], [], []]
    assert secrets_in("https://me:hunter22@host/") == ["hunter22"]
    # In a message every secret is left out.
    assert printable(reply, ["not-needed"]) == reply.replace("not-needed", HIDDEN)


@pytest.mark.parametrize("escape", ["%20", r"\n", r"\u0020", r"\x20"])
def test_a_short_secret_behind_an_escape_is_a_word(escape: str) -> None:
    assert printable(f"Bearer{escape}hun7er2", ["hun7er2"]) == f"Bearer{escape}…"
    assert without_secrets(f"Bearer{escape}hun7er2", ["hun7er2"]) == f"Bearer{escape}…"


def test_one_secret_may_contain_another() -> None:
    secrets = ["sk-12345678", "sk-12345678-and-9more"]
    assert without_secrets("sk-12345678-and-9more, sk-12345678", secrets) == "…, …"
    assert without_secrets("sk-12345678-and-9more, sk-12345678", secrets[::-1]) == "…, …"


def test_a_hostile_reply_takes_no_time_to_search() -> None:
    secret = "sk-0123456789abcdef"
    for text in (secret[:6] * 300_000, secret[:11] * 200_000, "a" * 2_000_000):
        without_secrets(text, [secret, "a" * 40])


@pytest.mark.parametrize(
    "command",
    [
        "::error::owned",
        "::stop-commands::x",
        "  ::add-mask::a",
        "##[error]owned",
        "q1 ##[command]x",
        "##vso[task.setvariable]x",
        "##teamcity[x]",
    ],
)
def test_no_text_is_a_command_of_ci(command: str) -> None:
    for text in (command, f"first\n{command}"):
        shown = printable(text)
        assert not re.search(r"(?m)^\s*::|##\w*\[", shown)
        assert re.sub(r"[: #]", "", shown) == re.sub(r"[: #]", "", text)
    assert printable("a::b, ## [x] and std::move") == "a::b, ## [x] and std::move"


def test_no_message_repeats_a_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Of a shorter part, such as the name of the program at its beginning, ordinary text stays.
    monkeypatch.setenv("MY_SERVICE_KEY", secret := "workbench-9f8e7d6c5b4a")
    text = f"workbench: the key {secret} is wrong"
    hidden = "workbench: the key … is wrong"
    assert printable(text) == hidden
    assert error_line(ValueError(text)) == f"ValueError: {hidden}"
    assert str(InputError(text, text)) == f"{hidden}; {hidden}"
    assert ExperimentError("x", [text]).lines == [f"x: {hidden}"]
    say(text)
    assert capsys.readouterr().out == f"{hidden}\n"


def test_headers_of_the_environment_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_CUSTOM_HEADERS", "NOTES_AUTHORIZATION", "OTEL_EXPORTER_OTLP_HEADERS", "PROXY_AUTH"):
        monkeypatch.setenv(name, "x-gate: Bearer 1a2b3c4d5e6f")
        assert without_secrets("'1a2b3c4d5e6f' to x-gate", environment_secrets()) == "'…' to x-gate"
        monkeypatch.delenv(name)
