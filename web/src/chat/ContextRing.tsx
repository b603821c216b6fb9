// How full the model's context is, as a ring; what fills it, when it is asked for.

import clsx from "clsx";
import { useState } from "react";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { tokens } from "@/ui/format";
import { tip } from "@/ui/Tips";
import { ContextDialog } from "./ContextDialog";

const RADIUS = 7;
const ROUND = 2 * Math.PI * RADIUS;

export function ContextRing() {
  const [open, setOpen] = useState(false);
  const chatId = useChat(state => state.chat?.id ?? null);
  const used = useChat(state => state.usage?.context_used ?? null);
  const limit = useChat(state => state.usage?.context_limit ?? null);
  if (chatId === null || used === null || used === 0) return null;
  const share = limit ? Math.min(1, used / limit) : null;
  const told =
    limit && share !== null
      ? texts.shell.context(Math.round(share * 100), tokens(used), tokens(limit))
      : texts.shell.contextUnknown(tokens(used));
  return (
    <>
      <button
        type="button"
        aria-label={told}
        aria-haspopup="dialog"
        {...tip(told)}
        onClick={() => setOpen(true)}
        className="tabular flex h-6 min-w-6 shrink-0 items-center justify-center rounded text-faint text-xs hover:bg-hover"
      >
        {share === null ? <span className="hidden sm:block">{told}</span> : <Ring share={share} />}
      </button>
      {open && <ContextDialog chatId={chatId} used={used} onClose={() => setOpen(false)} />}
    </>
  );
}

function Ring({ share }: { share: number }) {
  return (
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
  );
}
