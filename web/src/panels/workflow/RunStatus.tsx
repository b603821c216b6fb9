// How a run, or a call in one, stands: an icon with a name.

import clsx from "clsx";
import { CircleAlert, CircleCheck, CircleDashed, CircleSlash, LoaderCircle } from "lucide-react";
import type { RunListed } from "@/api/schema";
import { texts } from "@/texts";

const LOOK = {
  pending: { icon: CircleDashed, color: "text-faint" },
  running: { icon: LoaderCircle, color: "animate-spin text-accent-text" },
  succeeded: { icon: CircleCheck, color: "text-good" },
  failed: { icon: CircleAlert, color: "text-bad" },
  cancelled: { icon: CircleSlash, color: "text-soft" },
};

export function RunStatus({ status }: { status: RunListed["status"] }) {
  const { icon: Icon, color } = LOOK[status];
  return (
    <Icon
      role="img"
      aria-label={texts.panels.outcomes[status] ?? status}
      className={clsx("size-4 shrink-0", color)}
    />
  );
}
