// Actions in components: the context as it is now, and the keys of the whole page.

import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect } from "react";
import { useSession } from "@/api/queries";
import { useOpenChat } from "@/chat/open";
import { ACTIONS, actionOf } from "./all";
import { isForWriting, matches } from "./keys";
import { type Action, type Context, isOffered, perform, titleOf } from "./registry";

export function useActionContext(): Context {
  const navigate = useNavigate();
  const chat = useOpenChat(open => open.chat);
  const admin = useSession().data?.scopes.includes("admin") ?? false;
  const go = useCallback(
    (to: string) => {
      const [path = "/", hash] = to.split("#");
      void navigate({ to: path, ...(hash !== undefined && { hash }) });
    },
    [navigate],
  );
  return { chat, admin, navigate: go };
}

export interface Offered {
  action: Action;
  title: string;
  keys: string | undefined;
  offered: boolean;
  run: () => void;
}

/** An action for a button. */
export function useAction(id: string): Offered {
  const context = useActionContext();
  const action = actionOf(id);
  return {
    action,
    title: titleOf(action, context),
    keys: action.keys?.[0],
    offered: isOffered(action, context),
    run: () => void perform(action, context),
  };
}

export function useShortcuts(): void {
  const context = useActionContext();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
      const writing = isWriting(event.target);
      const action = ACTIONS.find(
        one =>
          one.keys?.some(keys => matches(keys, event) && !(writing && isForWriting(keys))) &&
          isOffered(one, context),
      );
      if (action === undefined) return;
      event.preventDefault();
      void perform(action, context);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [context]);
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
