# ruff: noqa: E501 - an expression on one line is easier to compare than one that is broken up
"""What scripts expect around the language: the answers are those of another engine (V8 with ICU, en-US, UTC)."""

import json
from typing import cast

import pytest

from tests.scripts.host import run_script

EXPRESSIONS = [
    (
        "['b','a','C','A','B','c','ä','z','Z','é','e','1','10','2','_','-',' ',''].sort((x,y)=>x.localeCompare(y))",
        '[""," ","_","-","1","10","2","a","A","ä","b","B","c","C","e","é","z","Z"]',
    ),
    (
        "['a10','a2','a1','b'].sort((x,y)=>x.localeCompare(y,undefined,{numeric:true}))",
        '["a1","a2","a10","b"]',
    ),
    ("'a'.localeCompare('A')", "-1"),
    ("'a'.localeCompare('B')", "-1"),
    ("'résumé'.localeCompare('resume')", "1"),
    ("'a'.localeCompare('á',undefined,{sensitivity:'base'})", "0"),
    ("'a'.localeCompare('A','en',{sensitivity:'base'})", "0"),
    (
        "['item_1','item-1','item 1','item.1','Item1'].sort((x,y)=>x.localeCompare(y))",
        '["item 1","item_1","item-1","item.1","Item1"]',
    ),
    ("(1234567.891).toLocaleString()", '"1,234,567.891"'),
    ("(0.5).toLocaleString('en-US',{style:'percent'})", '"50%"'),
    ("(1234.5).toLocaleString('en-US',{style:'currency',currency:'USD'})", '"$1,234.50"'),
    ("(-1234.567).toLocaleString(undefined,{maximumFractionDigits:1})", '"-1,234.6"'),
    ("(12).toLocaleString('en-US',{minimumFractionDigits:2})", '"12.00"'),
    ("(1234567).toLocaleString('en-US',{notation:'compact'})", '"1.2M"'),
    ("(1.005).toLocaleString('en-US',{maximumFractionDigits:2})", '"1.01"'),
    ("(1e21).toLocaleString()", '"1,000,000,000,000,000,000,000"'),
    ("(NaN).toLocaleString()", '"NaN"'),
    ("(123456789n).toLocaleString()", '"123,456,789"'),
    ("new Date(0).toLocaleDateString('en-US',{timeZone:'UTC'})", '"1/1/1970"'),
    ("new Date(0).toLocaleTimeString('en-US',{timeZone:'UTC'})", '"12:00:00 AM"'),
    ("new Date(0).toLocaleString('en-US',{timeZone:'UTC'})", '"1/1/1970, 12:00:00 AM"'),
    (
        "new Date(86400000*45).toLocaleDateString('en-US',{year:'numeric',month:'long',day:'numeric',timeZone:'UTC'})",
        '"February 15, 1970"',
    ),
    (
        "new Date(86400000*45).toLocaleDateString('en-US',{weekday:'short',month:'short',day:'numeric',timeZone:'UTC'})",
        '"Sun, Feb 15"',
    ),
    (
        "new Date(86400000*45).toLocaleDateString('en-US',{month:'long',year:'numeric',timeZone:'UTC'})",
        '"February 1970"',
    ),
    (
        "new Date(86400000*45+50000000).toLocaleTimeString('en-US',{hour:'2-digit',minute:'2-digit',timeZone:'UTC'})",
        '"01:53 PM"',
    ),
    (
        "new Date(86400000*45+50000000).toLocaleTimeString('en-US',{hour12:false,timeZone:'UTC'})",
        '"13:53:20"',
    ),
    ("new Intl.PluralRules('en-US').select(1)", '"one"'),
    ("new Intl.PluralRules('en-US',{type:'ordinal'}).select(22)", '"two"'),
    ("new Intl.ListFormat('en').format(['a','b','c'])", '"a, b, and c"'),
    ("new Intl.NumberFormat('en-US').format(98765.4321)", '"98,765.432"'),
    ("[...new TextEncoder().encode('aä€😀')]", "[97,195,164,226,130,172,240,159,152,128]"),
    ("new TextDecoder().decode(new Uint8Array([97,195,164,226,130,172,240,159,152,128,255]))", '"aä€😀�"'),
    ("structuredClone({a:[1,{b:new Date(0)}],m:new Map([[1,2]])}).a", '[1,{"b":"1970-01-01T00:00:00.000Z"}]'),
    (
        "new URL('https://User:pw@Example.com:443/a/../b/./c?x=1&y=a%20b#frag').href",
        '"https://User:pw@example.com/b/c?x=1&y=a%20b#frag"',
    ),
    ("new URL('../x?q=ä','https://e.com/a/b/c').href", '"https://e.com/a/x?q=%C3%A4"'),
    ("new URL('https://e.com').pathname", '"/"'),
    ("new URL('http://e.com:8080/p?a=1&a=2').searchParams.getAll('a')", '["1","2"]'),
    ("new URL('nope')", "ERR TypeError"),
    (
        "(()=>{const u=new URL('https://e.com/p?a=1'); u.searchParams.set('b','c d'); u.searchParams.append('e','é'); return u.href})()",
        '"https://e.com/p?a=1&b=c+d&e=%C3%A9"',
    ),
    ("new URLSearchParams({a:'1 2',b:'&'}).toString()", '"a=1+2&b=%26"'),
    ("new URL('mailto:a@b.c').pathname", '"a@b.c"'),
    (
        "[new URL('https://e.com/x y').href,new URL('https://e.com/x y').host,new URL('https://e.com/x y').origin]",
        '["https://e.com/x%20y","e.com","https://e.com"]',
    ),
    ("URL.canParse('x')", "false"),
    (
        "(()=>{const c=new AbortController(); let n=0; c.signal.addEventListener('abort',()=>n++); c.abort(); return [n,c.signal.aborted,c.signal.reason.name]})()",
        '[1,true,"AbortError"]',
    ),
]


@pytest.mark.heavy
async def test_the_answers_are_those_of_another_engine() -> None:
    wrapped = [
        f"(() => {{ try {{ return JSON.stringify({text}) }} catch (e) {{ return 'ERR ' + e.name }} }})()"
        for text, _ in EXPRESSIONS
    ]
    found = cast(list[str], (await run_script("javascript", f"return [{', '.join(wrapped)}]")).value)
    wrong = {
        text: (answer, wanted)
        for (text, wanted), answer in zip(EXPRESSIONS, found, strict=True)
        if answer != wanted
    }
    assert wrong == {}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [
        "(1).toLocaleString('de-DE')",
        "new Intl.Segmenter('en')",
        "new Intl.DateTimeFormat('en-US').format()",
        "new Date(0).toLocaleString('en-US', {timeZone: 'Europe/Berlin'})",
        "(5).toLocaleString('en-US', {style: 'unit', unit: 'liter'})",
        "new TextDecoder('utf-16')",
    ],
)
async def test_what_is_not_there_says_so(text: str) -> None:
    failure = (await run_script("javascript", f"return {text}")).failure
    assert "not available here" in failure.message
    assert failure.line == 2


def test_the_list_of_answers_is_json() -> None:
    assert all(wanted.startswith("ERR ") or json.loads(wanted) is not None for _, wanted in EXPRESSIONS)
