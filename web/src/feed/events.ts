// What a chat's feed tells, as the server names it, and the two things the page itself adds: pages of older
// history that it asked for, and the place of an event.

import type {
  Action,
  Chat,
  Failure,
  Message,
  MessageData,
  PartData,
  QueueItem,
  Retry,
  Span,
  StatusData,
  Usage,
} from "@/api/schema";

export interface Collision {
  path: string;
  severity: string;
  chats: string[];
}

type Nothing = Record<string, never>;

export type FeedEvent =
  | { event: "chat"; data: Chat }
  | { event: "message"; data: MessageData }
  | { event: "part"; data: PartData }
  | { event: "queue"; data: { items: QueueItem[] } }
  | { event: "status"; data: StatusData }
  | { event: "retry"; data: Retry }
  | { event: "failed"; data: Failure }
  | { event: "action_required"; data: Action }
  | { event: "preview_reset"; data: Nothing }
  | { event: "history_reset"; data: Nothing }
  | { event: "span"; data: Span }
  | { event: "usage"; data: Usage }
  | { event: "collision"; data: Collision }
  | { event: "caught_up"; data: Nothing }
  | { event: "closing"; data: { reason: Closing } };

export type Closing = "closing" | "deleted" | "access" | "slow" | "failed";

/** A page of history that was asked for: the messages directly before (or after) one that is known. */
export interface HistoryPage {
  items: readonly Message[];
  /** There is more in front of the first item. */
  more: boolean;
}

export type ListEvent =
  | { event: "created" | "changed" | "needs_you"; data: Chat }
  | { event: "removed"; data: { id: string } }
  | { event: "caught_up"; data: Nothing }
  | { event: "closing"; data: { reason: Closing } };
