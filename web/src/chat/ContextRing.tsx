// How full the model's context is, as a ring.

import clsx from "clsx";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { tokens } from "@/ui/format";
import { tip } from "@/ui/Tips";

const RADIUS = 7;
const ROUND = 2 * Math.PI * RADIUS;

export function ContextRing() {
  const used = useChat(state => state.usage?.context_used ?? null);
  const limit = useChat(state => state.usage?.context_limit ?? null);
  if (used === null || used === 0) return null;
  if (limit === null || limit === 0) {
    return (
      <span className="tabular hidden text-faint text-xs sm:block">
        {texts.shell.contextUnknown(tokens(used))}
      </span>
    );
  }
  const share = Math.min(1, used / limit);
  const told = texts.shell.context(Math.round(share * 100), tokens(used), tokens(limit));
  return (
    <span
      role="img"
      aria-label={told}
      {...tip(told)}
      className="flex size-6 shrink-0 items-center justify-center"
    >
      <svg viewBox="0 0 18 18" className="-rotate-90 size-[18px]" aria-hidden>
        <circle cx="9" cy="9" r={RADIUS} fill="none" strokeWidth="2.5" className="stroke-chosen" />
        <circle
          cx="9"
          cy="9"
          r={RADIUS}
          fill="none"
          strokeWidth="2.5"
          strokeLinecap="round"
          strokeDasharray={`${share * ROUND} ${ROUND}`}
          className={clsx(share < 0.6 ? "stroke-accent" : share < 0.85 ? "stroke-warn" : "stroke-bad")}
        />
      </svg>
    </span>
  );
}
