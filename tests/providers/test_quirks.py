"""Every quirk of the table, read as it is meant."""

import msgspec
import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.parts import Reasoning, Text, ToolCall
from holdfast.providers.assemble import Assembler, ModelAnswer
from holdfast.providers.configs import ModelConfig
from holdfast.providers.failures import Endpoint
from holdfast.providers.families import FAMILIES
from holdfast.providers.interface import ModelRequest
from holdfast.providers.openai import OpenAIFormat
from holdfast.providers.redact import Redactor
from tests.providers.calling import NOTE, numbered_ids, user
from tests.providers.quirks import QUIRKS, Quirk


def read(quirk: Quirk) -> ModelAnswer:
    model = ModelConfig(name="default", provider="here", model="m")
    request = ModelRequest(model=model, messages=(user("Hi"),), tools=(NOTE,))
    endpoint = Endpoint(provider="here", url="http://here", key_place="KEY", redactor=Redactor())
    reading = OpenAIFormat(FAMILIES[quirk.family]).reading(request, endpoint)
    assembler = Assembler(numbered_ids())
    payloads = [
        chunk.encode() if isinstance(chunk, str) else msgspec.json.encode(chunk) for chunk in quirk.chunks
    ]
    for payload in (*payloads, *([b"[DONE]"] if quirk.done else [])):
        for event in reading.read(payload):
            assembler.add(event)
    for event in reading.end():
        assembler.add(event)
    return assembler.answer()


@pytest.mark.parametrize("name", QUIRKS)
def test_a_quirk(name: str) -> None:
    quirk = QUIRKS[name]
    if quirk.fails is not None:
        with pytest.raises(AttemptFailed) as raised:
            read(quirk)
        assert raised.value.failure.kind == quirk.fails
        return
    answer = read(quirk)
    parts = answer.parts
    assert "".join(part.text for part in parts if isinstance(part, Text)) == quirk.text
    assert "".join(part.text for part in parts if isinstance(part, Reasoning)) == quirk.reasoning
    assert tuple((part.name, part.input) for part in parts if isinstance(part, ToolCall)) == quirk.calls
    if quirk.usage is not None:
        assert (answer.usage.input, answer.usage.output) == quirk.usage
        assert answer.usage.context_used == (quirk.usage[0] or None)
    if quirk.stop is not None:
        assert answer.stop_reason == quirk.stop


def test_there_are_many() -> None:
    assert len(QUIRKS) >= 40
    assert {quirk.family for quirk in QUIRKS.values()} <= FAMILIES.keys()
