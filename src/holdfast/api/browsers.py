"""What a person calls the program that signed in, from its User-Agent header: "Firefox on Linux". It is a
name in a list and nothing is decided by it."""

# The first that is found counts: most browsers also claim to be those further below.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_LONGEST = 40


def browser_name(user_agent: str) -> str:
    """Of a program that is no browser, its own name as it stands first in the header."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    if browser is None:
        return user_agent.partition("/")[0].partition(" ")[0][:_LONGEST] or "Unknown program"
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    return browser if system is None else f"{browser} on {system}"
