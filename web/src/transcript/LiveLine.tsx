// The line above the composer: what happens now, how fast it is said, and how much of the context is used. It has
// its room always, so that nothing jumps when it begins to speak.

import clsx from "clsx";
import { CircleAlert, LoaderCircle } from "lucide-react";
import { useMemo } from "react";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { tokens } from "@/ui/format";
import { useTick } from "@/ui/tick";
import { liveOf } from "./live";

const t = texts.transcript.live;

export function LiveLine() {
  const state = useChat(one => one);
  const now = useTick(state.chat?.retry != null);
  const live = useMemo(() => liveOf(state, now), [state, now]);
  return (
    <div className="mx-auto flex h-7 w-full max-w-3xl shrink-0 items-center gap-2 px-4 text-sm">
      {live.kind !== "rest" && (
        <p
          data-testid="live"
          data-kind={live.kind}
          className={clsx(
            "flex min-w-0 items-center gap-1.5",
            live.kind === "working" || live.kind === "stopping" ? "text-soft" : "text-warn",
          )}
        >
          {live.kind === "waiting" ? (
            <CircleAlert aria-hidden className="size-4 shrink-0" />
          ) : (
            <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />
          )}
          {/* On a phone a reason may take two lines of the same room. */}
          <span className="line-clamp-2 max-sm:text-xs max-sm:leading-3.5 sm:line-clamp-1">{live.text}</span>
        </p>
      )}
      <Speed />
    </div>
  );
}

function Speed() {
  const running = useChat(state => state.chat?.status === "running");
  const speaks = useChat(state => state.preview !== null);
  const speed = useChat(state => state.usage?.tokens_per_second ?? null);
  const used = useChat(state => state.usage?.context_used ?? null);
  const limit = useChat(state => state.usage?.context_limit ?? null);
  if (!running) return null;
  const facts = [
    speaks &&
      speed !== null &&
      speed > 0 &&
      t.speed(speed >= 10 ? Math.round(speed) : Number(speed.toFixed(1))),
    used !== null && used > 0 && t.context(tokens(used), limit === null ? null : tokens(limit)),
  ].filter(Boolean);
  return (
    <p data-testid="speed" className="tabular ml-auto hidden shrink-0 text-faint text-xs sm:block">
      {facts.join(" · ")}
    </p>
  );
}
