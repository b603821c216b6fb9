// Something that could not be read, and the way to try again.

import { textOf } from "@/api/problem";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";

export function Unread({ why, onRetry }: { why: unknown; onRetry: () => void }) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-2 px-3 py-2 text-sm">
      <span className="min-w-0 flex-1 text-bad">
        {texts.panels.unread} {textOf(why)}
      </span>
      <Button small onClick={onRetry}>
        {texts.panels.retry}
      </Button>
    </div>
  );
}
