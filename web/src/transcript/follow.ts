// Staying at the end of the conversation while it grows, unless the reader scrolled up. Three move what is seen: the
// reader, the browser (what shrinks leaves nothing to show), and the page, which corrects the place as sizes become
// known. Only the reader decides, so the page moves it through `own` alone.

import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { create } from "zustand";
import { type Hand, MEANT_MS, type Watch, watchHand } from "./hand";

/** Closer than this the reader is at the end. */
const AT_END_PX = 2;
const NEAR_PX = 40;

/** Who sends a message wants to see it. */
export const useSent = create<{ times: number }>(() => ({ times: 0 }));
export const toEnd = (): void => useSent.setState(({ times }) => ({ times: times + 1 }));

export interface Place {
  top: number;
  /** Of everything, and of what is seen of it. */
  height: number;
  view: number;
}

/** Pure: whether the end is followed after what is seen moved from one place to another, not by the page. */
export function follows(was: boolean, before: Place, after: Place, hand: Hand): boolean {
  const shrank = after.height < before.height || after.view > before.view;
  if (after.top < before.top && (hand !== "away" || !shrank)) return false;
  // Who was led away begins at the end, too.
  if (after.top === before.top && after.height === before.height && after.view === before.view) return was;
  const below = after.height - after.top - after.view;
  if (below <= AT_END_PX && hand !== "up") return true;
  return was || (after.top > before.top && below <= NEAR_PX);
}

export interface Following {
  follow: boolean;
  /** Goes to the end and stays there. */
  jump: () => void;
  /** Stays where it is, whatever comes. */
  leave: () => void;
  /** Does what moves the place, which is not the reader's doing; where the end is followed, that is the place. */
  own: (move: () => void) => void;
  /** To be called whenever something was drawn, after everybody else who moves the place. */
  stick: () => void;
}

/** `below`: what stands under the messages and grows by itself. */
export function useFollowing(
  scroller: RefObject<HTMLElement | null>,
  below: RefObject<HTMLElement | null>,
): Following {
  const [follow, setFollow] = useState(true);
  const following = useRef(true);
  const place = useRef<Place>({ top: 0, height: 0, view: 0 });
  const watch = useRef<Watch | null>(null);
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const hand = useCallback((): Hand => watch.current?.hand() ?? "away", []);
  const set = useCallback((next: boolean) => {
    following.current = next;
    setFollow(next);
  }, []);
  /** Looks where the reader is now, who may have moved since. */
  const look = useCallback(() => {
    if (scroller.current === null) return;
    const now = placeOf(scroller.current);
    const next = follows(following.current, place.current, now, hand());
    place.current = now;
    if (next !== following.current) set(next);
  }, [scroller, hand, set]);
  const end = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop } = element;
    element.scrollTop = element.scrollHeight;
    place.current = placeOf(element);
    // Who draws what is seen hears of it before the next frame, not in it: else that frame shows nothing.
    if (element.scrollTop !== scrollTop) element.dispatchEvent(new Event("scroll"));
  }, [scroller]);
  const own = useCallback(
    (move: () => void) => {
      // What the reader did comes before it is told.
      look();
      if (following.current && hand() !== "up") {
        end();
        return;
      }
      move();
      if (scroller.current !== null) place.current = placeOf(scroller.current);
    },
    [scroller, look, hand, end],
  );
  const stick = useCallback(() => {
    look();
    clearTimeout(later.current);
    if (!following.current) return;
    // Upwards is meant at once, also while the end runs away faster than one can scroll: wait what becomes of it.
    if (hand() === "up") later.current = setTimeout(stick, MEANT_MS);
    else end();
  }, [look, hand, end]);
  const jump = useCallback(() => {
    set(true);
    end();
  }, [set, end]);
  const leave = useCallback(() => set(false), [set]);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const watching = watchHand(element);
    watch.current = watching;
    element.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(stick);
    sizes.observe(element);
    if (below.current) sizes.observe(below.current);
    return () => {
      watching.stop();
      element.removeEventListener("scroll", look);
      sizes.disconnect();
      clearTimeout(later.current);
    };
  }, [scroller, below, stick, look]);

  useEffect(() => useSent.subscribe(jump), [jump]);
  return { follow, jump, leave, own, stick };
}

function placeOf(element: HTMLElement): Place {
  return { top: element.scrollTop, height: element.scrollHeight, view: element.clientHeight };
}
