// A path in what an agent said or did: opens the file to be read, at the line that stands behind it.

import clsx from "clsx";
import type { ReactNode } from "react";
import { useOpenChat } from "@/chat/open";
import { texts } from "@/texts";
import { show } from "@/ui/view";
import { placeOf } from "./place";

export function PathLink({
  path,
  children,
  className,
}: {
  path: string;
  children?: ReactNode;
  className?: string;
}) {
  return (
    <button
      type="button"
      title={texts.tools.openFile(path)}
      onClick={event => {
        event.stopPropagation();
        const chat = useOpenChat.getState().chat;
        if (chat !== null) show({ kind: "file", chatId: chat.id, ...placeOf(path) });
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
