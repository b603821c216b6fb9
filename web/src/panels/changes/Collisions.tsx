// Files that other agents changed at about the same time, by how close they came.

import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { TriangleAlert } from "lucide-react";
import { useChats } from "@/chats/store";
import type { Collision } from "@/feed/events";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import type { DiffFile } from "./parse";
import { lookOf, worstFirst } from "./severity";

const t = texts.panels.changes;

const LOOK = {
  bad: "bg-bad-soft text-bad",
  warn: "bg-warn-soft text-warn",
  quiet: "bg-sunken text-soft",
};

/** Those that no file of the diff carries: merged, taken back, or elsewhere. */
export function Collisions({ files }: { files: readonly DiffFile[] }) {
  const collisions = useChat(state => state.collisions);
  const others = collisions.filter(one => !files.some(file => file.path === one.path));
  if (others.length === 0) return null;
  return (
    <ul aria-label={t.collisions} className="flex shrink-0 flex-col gap-1 border-line border-b p-2">
      {worstFirst(others).map(one => (
        <li key={one.path}>
          <CollisionMark collision={one} named />
        </li>
      ))}
    </ul>
  );
}

export function CollisionMark({ collision, named = false }: { collision: Collision; named?: boolean }) {
  const chats = useChats(state => state.chats);
  const others = collision.chats.slice(1);
  return (
    <span
      className={clsx(
        "flex flex-wrap items-center gap-x-1.5 rounded-md px-2 py-0.5 text-xs",
        LOOK[lookOf(collision.severity)],
      )}
    >
      <TriangleAlert aria-hidden className="size-3.5 shrink-0" />
      {named && <span className="break-all font-mono">{collision.path}</span>}
      <span>{t.severities[collision.severity] ?? collision.severity}</span>
      {others.map(id => (
        <Link
          key={id}
          to="/chats/$chatId"
          params={{ chatId: id }}
          className="py-1 underline underline-offset-2"
        >
          {chats.get(id)?.title || t.otherChat}
        </Link>
      ))}
    </span>
  );
}
