// Which suggestions are open, which one is chosen, and what the keys do meanwhile.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type RefObject, useEffect, useState } from "react";
import { call } from "@/api/client";
import { texts } from "@/texts";
import type { Suggestion } from "./Suggestions";
import { type Command, matching, type Trigger, triggerAt, withFile } from "./suggestions";

const t = texts.composer;
const MOST_FILES = 20;

interface Given {
  id: string;
  text: string;
  area: RefObject<HTMLTextAreaElement | null>;
  commands: readonly Command[];
  workspaceId: string | null;
  write: (text: string, caret?: number) => void;
}

export function useSuggestions({ id, text, area, commands, workspaceId, write }: Given) {
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  /** What was dismissed with Escape, until something else is typed. */
  const [dismissed, setDismissed] = useState<string | null>(null);
  const [focused, setFocused] = useState(false);
  const found = focused && text !== dismissed ? triggerAt(text, caret) : null;
  const trigger = found?.kind === "file" && workspaceId === null ? null : found;
  const files = useFiles(workspaceId, trigger);
  const skills = useSkills(workspaceId, trigger);
  const suggestions: Suggestion[] =
    trigger === null
      ? []
      : trigger.kind === "command"
        ? matching([...commands, ...skills], trigger.query).map(one => ({
            key: one.name,
            title: `/${one.name}`,
            hint: one.hint,
            choose: () => {
              write(one.writes ?? "");
              one.run?.();
            },
          }))
        : files.map(path => ({
            key: path,
            title: path,
            hint: "",
            choose: () => write(...withFile(text, caret, trigger, path)),
          }));
  // A text that only begins with a slash is a text like any other.
  const open = trigger !== null && (suggestions.length > 0 || trigger.kind === "file");
  // biome-ignore lint/correctness/useExhaustiveDependencies: with other words, the first one again
  useEffect(() => setAt(0), [trigger?.query]);
  const close = () => setFocused(false);
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (!open) return false;
    const count = suggestions.length;
    switch (event.key) {
      case "ArrowDown":
        setAt(count === 0 ? 0 : (at + 1) % count);
        break;
      case "ArrowUp":
        setAt(count === 0 ? 0 : (at - 1 + count) % count);
        break;
      case "Escape":
        setDismissed(text);
        break;
      case "Enter":
      case "Tab": {
        const one = suggestions[at];
        if (one === undefined || event.shiftKey || event.ctrlKey || event.metaKey) return false;
        one.choose();
        break;
      }
      default:
        return false;
    }
    event.preventDefault();
    return true;
  };
  const listId = `${id}-suggestions`;
  return {
    open,
    close,
    onKeyDown,
    onSelect: () => {
      setFocused(true);
      setCaret(area.current?.selectionStart ?? 0);
    },
    aria: {
      "aria-haspopup": "listbox" as const,
      "aria-controls": listId,
      "aria-autocomplete": "list" as const,
      "aria-activedescendant": suggestions.length > 0 ? `${listId}-${at}` : undefined,
    },
    list: {
      id: listId,
      label: trigger?.kind === "file" ? t.files : t.commands,
      suggestions,
      at,
      nothing: t.noFiles,
    },
  };
}

/** What agents have learnt to do, as commands: the beginning of a message that asks for it. */
function useSkills(workspaceId: string | null, trigger: Trigger | null): readonly Command[] {
  const found = useQuery({
    queryKey: ["skills", workspaceId],
    queryFn: async ({ signal }) => {
      const query = { workspace_id: workspaceId, limit: 200 };
      const page = await call("GET /skills", { query, signal });
      return page.items.map(
        (skill): Command => ({
          name: `skill ${skill.name}`,
          hint: skill.description,
          writes: t.askSkill(skill.name),
        }),
      );
    },
    enabled: trigger?.kind === "command",
  });
  return found.data ?? [];
}

function useFiles(workspaceId: string | null, trigger: Trigger | null): readonly string[] {
  const query = trigger?.kind === "file" ? trigger.query : null;
  const found = useQuery({
    queryKey: ["workspace-files", workspaceId, query],
    queryFn: async ({ signal }) => {
      const path = { workspace_id: workspaceId ?? "" };
      const page = await call("GET /workspaces/{workspace_id}/files", {
        path,
        query: { q: query ?? "", limit: MOST_FILES },
        signal,
      });
      return page.items.map(item => item.path);
    },
    enabled: workspaceId !== null && query !== null,
    placeholderData: keepPreviousData,
  });
  return query === null ? [] : (found.data ?? []);
}
