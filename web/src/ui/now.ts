// The moment, for what tells ages and days: moves on every minute.

import { useSyncExternalStore } from "react";

const EVERY_MS = 60_000;
let now = new Date();

function subscribe(changed: () => void): () => void {
  const timer = setInterval(() => {
    now = new Date();
    changed();
  }, EVERY_MS);
  return () => clearInterval(timer);
}

export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now);
}
