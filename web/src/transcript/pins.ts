// Messages that a person pinned, by chat. Kept in this browser.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";

export interface Pin {
  messageId: string;
  /** Its beginning, for the bar. */
  text: string;
}

type Pins = Readonly<Record<string, readonly Pin[]>>;

const MOST = 50;
const NONE: readonly Pin[] = [];

export const usePins = create<{ pins: Pins }>()(
  persist(() => ({ pins: {} as Pins }), {
    name: "holdfast.pins",
    storage: createJSONStorage(() => localStorage),
  }),
);

export const pinsOf = (pins: Pins, chatId: string): readonly Pin[] => pins[chatId] ?? NONE;

export function togglePin(chatId: string, pin: Pin): void {
  usePins.setState(({ pins }) => ({ pins: toggled(pins, chatId, pin) }));
}

/** Pure. In the order of the history. */
export function toggled(pins: Pins, chatId: string, pin: Pin): Pins {
  const own = pinsOf(pins, chatId);
  const without = own.filter(one => one.messageId !== pin.messageId);
  if (without.length < own.length) return { ...pins, [chatId]: without };
  const all = [...own, { ...pin, text: pin.text.slice(0, 120) }].slice(-MOST);
  return { ...pins, [chatId]: all.sort((one, other) => (one.messageId < other.messageId ? -1 : 1)) };
}
