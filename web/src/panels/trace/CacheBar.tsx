// How much of a request came from the cache: read, written, fresh.

import clsx from "clsx";
import { texts } from "@/texts";
import { tokens } from "@/ui/format";
import { tip } from "@/ui/Tips";
import { type CacheShare, cacheLook, hitRate } from "./cache";
import { FILL } from "./looks";

const t = texts.panels.trace;

export function percent(share: CacheShare): number {
  return Math.round(hitRate(share) * 100);
}

export function segmentsText(share: CacheShare): string {
  const { read, written, fresh } = t.segments;
  return `${tokens(share.read)} ${read} · ${tokens(share.written)} ${written} · ${tokens(share.fresh)} ${fresh}`;
}

export function CacheBar({ share, className }: { share: CacheShare; className?: string }) {
  const told = `${t.cacheOf(percent(share))}: ${segmentsText(share)}`;
  const wide = (part: number) => ({ width: `${(part / share.total) * 100}%` });
  return (
    <span
      role="img"
      aria-label={told}
      {...tip(told)}
      className={clsx("flex h-1.5 shrink-0 overflow-hidden rounded-full bg-chosen", className)}
    >
      <span className={FILL[cacheLook(share)]} style={wide(share.read)} />
      <span className="bg-accent/45" style={wide(share.written)} />
    </span>
  );
}
