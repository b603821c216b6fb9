// A path in what an agent said or did. A file that was changed is shown among the changes; any other path is
// copied.

import clsx from "clsx";
import type { ReactNode } from "react";
import { openPanel } from "@/panels/actions";
import { PANELS } from "@/panels/registry";
import { texts } from "@/texts";
import { copy } from "@/transcript/copy";
import { toast } from "@/ui/view";

const t = texts.tools;
const CHANGES = "changes";

export function PathLink({
  path,
  changed = false,
  children,
  className,
}: {
  path: string;
  changed?: boolean;
  children?: ReactNode;
  className?: string;
}) {
  const shows = changed && PANELS.some(panel => panel.id === CHANGES);
  const follow = async () => {
    if (shows) openPanel(CHANGES);
    else if (await copy(path)) toast(t.pathCopied(path), "good");
  };
  return (
    <button
      type="button"
      title={shows ? t.showChanges(path) : t.copyPath(path)}
      onClick={event => {
        event.stopPropagation();
        void follow();
      }}
      className={clsx(
        "max-w-full truncate text-left align-bottom text-accent-text underline-offset-2 hover:underline",
        className,
      )}
    >
      {children ?? path}
    </button>
  );
}
