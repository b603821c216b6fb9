"""Names of browsers in the list of sessions."""

import pytest

from holdfast.api.session import browser_name

MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    "user_agent, name",
    [
        (f"{MAC} Version/18.1 Safari/605.1.15", "Safari on macOS"),
        (f"{MAC} Chrome/140.0.0.0 Safari/537.36", "Chrome on macOS"),
        (f"{MAC} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge on macOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) CriOS/140.0 Mobile/15E148 Safari/604.1",
            "Chrome on iPhone",
        ),
        ("Mozilla/5.0 (Linux; Android 15) Gecko/140.0 Firefox/140.0", "Firefox on Android"),
        ("curl/8.5.0", "curl"),
        ("", "Unknown program"),
        ("x" * 10_000, "x" * 40),
    ],
)
def test_names(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name
