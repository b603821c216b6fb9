// What is open at this moment and is forgotten with the page: dialogs, drawers, notes to the reader.

import { create } from "zustand";

export interface Toast {
  id: number;
  kind: "info" | "good" | "bad" | "attention";
  text: string;
  action?: { title: string; run: () => void };
  /** The chat that the note speaks of: looking at that chat answers it. */
  about?: string;
}

export type Dialog =
  | { kind: "palette" }
  | { kind: "shortcuts" }
  | { kind: "confirm"; text: string; confirm: string; run: () => void }
  | { kind: "approvals"; chatId: string }
  | { kind: "file"; chatId: string; path: string; line: number | null }
  | { kind: "rename"; chatId: string; title: string }
  | { kind: "from_template"; first?: string; onMade: (workspaceId: string) => void };

interface View {
  dialog: Dialog | null;
  /** On a phone, what covers the conversation. */
  drawer: "chats" | "panel" | null;
  toasts: readonly Toast[];
  /** Whole sentences for screen readers. */
  announcement: { text: string; n: number };
  /** The page is wide enough for three columns. */
  wide: boolean;
}

export const useView = create<View>(() => ({
  dialog: null,
  drawer: null,
  toasts: [],
  announcement: { text: "", n: 0 },
  wide: true,
}));

const SHOWN_MS = 6000;
let toasts = 0;

export function toast(
  text: string,
  kind: Toast["kind"] = "info",
  more: Pick<Toast, "action" | "about"> = {},
): void {
  toasts += 1;
  const id = toasts;
  // Of one chat the newest is said: what it needed before may be done.
  if (more.about !== undefined) dismissAbout(more.about);
  useView.setState(view => ({ toasts: [...view.toasts.slice(-3), { id, kind, text, ...more }] }));
  // What asks for something stays until it is answered.
  if (kind === "good" || more.action === undefined) setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  useView.setState(view => ({ toasts: view.toasts.filter(one => one.id !== id) }));
}

export function dismissAbout(chatId: string): void {
  useView.setState(view => ({ toasts: view.toasts.filter(one => one.about !== chatId) }));
}

export function announce(text: string): void {
  useView.setState(view => ({ announcement: { text, n: view.announcement.n + 1 } }));
}

export const show = (dialog: Dialog | null): void => useView.setState({ dialog });
export const draw = (drawer: View["drawer"]): void => useView.setState({ drawer });

const WIDE = "(min-width: 768px)";

export function followWidth(): void {
  const query = matchMedia(WIDE);
  const apply = () => useView.setState({ wide: query.matches, drawer: null });
  apply();
  query.addEventListener("change", apply);
}
