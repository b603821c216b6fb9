"""Addresses that are not reached on behalf of somebody who is no admin."""

import pytest

from holdfast.tools.addresses import AddressRefused, check_address, check_address_of, public_addresses


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "localhost",
            "localhost.",
            "0",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "127.1",
            "[::1]",
        ),
        *(
            "[::ffff:7f00:1]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[2001:0:1::]",
            "[::7f00:1]",
        ),
        *(
            "169.254.169.254",
            "[fd00:ec2::254]",
            "100.100.100.200",
            "168.63.129.16",
            "metadata.google.internal.",
        ),
        *(
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
        ),
        *(
            "[fe80::1]",
            "[fc00::1]",
            "[ff02::1]",
            "[fec0::1]",
            "printer.local",
            "x.internal",
            "METADATA",
            "0.0.0.0",
        ),
        "[fe80::5efe:8.8.8.8]",
    ],
)
def test_addresses_that_are_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        check_address_of(f"http://{host}/path")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://example.com",
        "http://",
        "//example.com",
        "http://[::1",
        "http://x:99999/",
    ],
)
def test_what_is_no_address_of_the_web(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_address_of(url)


def test_public_ones_pass() -> None:
    for url in (
        "https://example.com/mcp",
        "http://8.8.8.8",
        "http://[2606:4700::1111]:8080/",
        "https://example.com.",
    ):
        check_address_of(url)
    assert str(check_address("8.8.8.8")) == "8.8.8.8"
    with pytest.raises(AddressRefused):
        check_address_of("http://example.com:22", ports=(80, 443))


async def test_a_name_is_resolved_once_and_all_of_it_is_checked() -> None:
    asked: list[str] = []

    async def resolve(host: str, _: int) -> list[str]:
        asked.append(host)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    assert await public_addresses("example.com", 443, resolve) == ["93.184.216.34"]
    with pytest.raises(AddressRefused):
        await public_addresses("example.com", 443, resolve)

    async def mixed(_: str, __: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.1"]

    with pytest.raises(AddressRefused):
        await public_addresses("example.com", 443, mixed)
