// How the states of steps and runs look: an icon and a colour each.

import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleSlash,
  Hand,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import type { FlowRunData, FlowStepShown } from "@/api/schema";

export interface Look {
  icon: LucideIcon;
  color: string;
}

export const LOOKS: Record<FlowStepShown["state"] | FlowRunData["status"], Look> = {
  pending: { icon: CircleDashed, color: "text-faint" },
  ready: { icon: CircleDot, color: "text-soft" },
  running: { icon: LoaderCircle, color: "animate-spin text-accent-text" },
  waiting: { icon: Hand, color: "text-warn" },
  succeeded: { icon: CircleCheck, color: "text-good" },
  failed: { icon: CircleAlert, color: "text-bad" },
  timed_out: { icon: CircleAlert, color: "text-bad" },
  skipped: { icon: CircleSlash, color: "text-faint" },
  upstream_failed: { icon: CircleSlash, color: "text-bad" },
  cancelled: { icon: CircleSlash, color: "text-soft" },
};
