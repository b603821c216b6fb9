// What the feeds tell, as the server's catalogue names it, and what the page itself adds: pages of older
// history that it asked for.

import type { Message, Closing as Reasoned } from "@/api/schema";

export type { ChatFeedEvent as FeedEvent, Collision, ListFeedEvent as ListEvent } from "@/api/schema";

export type Closing = Reasoned["reason"];

/** A page of history that was asked for: the messages directly before (or after) one that is known. */
export interface HistoryPage {
  items: readonly Message[];
  /** There is more in front of the first item. */
  more: boolean;
}
