// Staying at the end of the conversation while it grows, unless the reader scrolled up.

import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { create } from "zustand";

/** Closer than this the reader is at the end. */
const AT_END_PX = 2;
const NEAR_PX = 40;

/** Who sends a message wants to see it. */
export const useSent = create<{ times: number }>(() => ({ times: 0 }));
export const toEnd = (): void => useSent.setState(({ times }) => ({ times: times + 1 }));

export interface Place {
  top: number;
  /** Pixels below what is seen. */
  below: number;
}

/** Pure: whether the end is followed after the reader moved from one place to another. */
export function follows(was: boolean, before: Place, after: Place): boolean {
  if (after.below <= AT_END_PX) return true;
  if (after.top < before.top - 1) return false;
  return was || (after.top > before.top && after.below <= NEAR_PX);
}

export interface Following {
  follow: boolean;
  /** Goes to the end and stays there. */
  jump: () => void;
  /** Stays where it is, whatever comes. */
  leave: () => void;
}

/** `below`: what stands under the messages and grows by itself. Whoever calls it draws again when they grow. */
export function useFollowing(
  scroller: RefObject<HTMLElement | null>,
  below: RefObject<HTMLElement | null>,
): Following {
  const [follow, setFollow] = useState(true);
  const following = useRef(true);
  const place = useRef<Place>({ top: 0, below: 0 });
  const set = useCallback((next: boolean) => {
    following.current = next;
    setFollow(next);
  }, []);
  /** Looks where the reader is now, who may have moved since. */
  const look = useCallback(
    (element: HTMLElement) => {
      const now = placeOf(element);
      const next = follows(following.current, place.current, now);
      place.current = now;
      if (next !== following.current) set(next);
    },
    [set],
  );
  const stick = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    // What is drawn because the reader scrolled comes before the scrolling is told.
    look(element);
    if (!following.current) return;
    element.scrollTop = element.scrollHeight;
    place.current = placeOf(element);
  }, [scroller, look]);
  const jump = useCallback(() => {
    const element = scroller.current;
    set(true);
    if (element !== null) element.scrollTop = element.scrollHeight;
    stick();
  }, [scroller, set, stick]);
  const leave = useCallback(() => set(false), [set]);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onScroll = () => look(element);
    // Upwards is meant at once, also while the end runs away faster than one can scroll.
    const onWheel = (event: WheelEvent) => {
      if (event.deltaY < 0 && element.scrollTop > 0) set(false);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    element.addEventListener("wheel", onWheel, { passive: true });
    const sizes = new ResizeObserver(stick);
    sizes.observe(element);
    if (below.current) sizes.observe(below.current);
    return () => {
      element.removeEventListener("scroll", onScroll);
      element.removeEventListener("wheel", onWheel);
      sizes.disconnect();
    };
  }, [scroller, below, set, stick, look]);

  // Not by observing the messages: their sizes are observed already, and what changes through that is told too
  // late in the same frame.
  useLayoutEffect(stick);
  useEffect(() => useSent.subscribe(jump), [jump]);
  return { follow, jump, leave };
}

function placeOf(element: HTMLElement): Place {
  return { top: element.scrollTop, below: element.scrollHeight - element.scrollTop - element.clientHeight };
}
