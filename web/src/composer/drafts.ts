// What was written and not sent, by chat. Kept in this browser, so that a reload loses nothing; a storage that
// is full or forbidden costs the draft and nothing else.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Chat, FileShown } from "@/api/schema";

export interface Draft {
  text: string;
  /** Files that are uploaded already. */
  files: readonly FileShown[];
  /** For a chat that is not there yet. */
  model?: string | null;
  effort?: string | null;
  workspaceId?: string | null;
  agent?: string | null;
  mode?: string | null;
  writes?: "direct" | "review" | null;
  providerTools?: Chat["provider_tools"];
}

export const NO_DRAFT: Draft = { text: "", files: [] };
/** What is left when a new chat was started: the choices stay for the next one, but each starts in the usual mode. */
export const AFTER_START: Partial<Draft> = { ...NO_DRAFT, mode: null };
const PREFIX = "holdfast.draft.";
const SAVED_AFTER_MS = 300;

export function loadDraft(key: string, storage: Storage = localStorage): Draft {
  try {
    const kept: unknown = JSON.parse(storage.getItem(PREFIX + key) ?? "null");
    return isDraft(kept) ? kept : NO_DRAFT;
  } catch {
    return NO_DRAFT;
  }
}

export function saveDraft(key: string, draft: Draft, storage: Storage = localStorage): void {
  const { text, files, ...chosen } = draft;
  const empty = text === "" && files.length === 0 && Object.values(chosen).every(one => one == null);
  try {
    if (empty) storage.removeItem(PREFIX + key);
    else storage.setItem(PREFIX + key, JSON.stringify(draft));
  } catch {
    // Full or forbidden: it is still on the screen.
  }
}

function isDraft(kept: unknown): kept is Draft {
  return (
    typeof kept === "object" &&
    kept !== null &&
    typeof (kept as Draft).text === "string" &&
    Array.isArray((kept as Draft).files)
  );
}

/** A draft that is saved a moment after each change, and at once when the page is left. */
export function useDraft(key: string): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => loadDraft(key));
  const latest = useRef(draft);
  const saved = useRef(draft);
  const save = useCallback(() => {
    if (saved.current === latest.current) return;
    saved.current = latest.current;
    saveDraft(key, latest.current);
  }, [key]);
  useEffect(() => {
    if (draft === saved.current) return;
    const timer = setTimeout(save, SAVED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [draft, save]);
  useEffect(() => {
    addEventListener("pagehide", save);
    return () => {
      removeEventListener("pagehide", save);
      save();
    };
  }, [save]);
  const change = useCallback((part: Partial<Draft>) => {
    latest.current = { ...latest.current, ...part };
    setDraft(latest.current);
  }, []);
  return [draft, change];
}
