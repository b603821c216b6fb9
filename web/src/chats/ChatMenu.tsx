// The menu of a chat: its actions, from the registry.

import { Fragment, type ReactNode } from "react";
import { chatActions } from "@/actions/chat";
import { useActionContext } from "@/actions/hooks";
import { isOffered, perform, titleOf } from "@/actions/registry";
import type { Chat } from "@/api/schema";
import { Menu, MenuItem, MenuLine } from "@/ui/Menu";

export function ChatMenu({ chat, trigger }: { chat: Chat; trigger: ReactNode }) {
  const context = { ...useActionContext(), chat };
  const offered = chatActions.filter(action => isOffered(action, context));
  return (
    <Menu trigger={trigger}>
      {offered.map(action => (
        <Fragment key={action.id}>
          {action.danger && <MenuLine />}
          <MenuItem
            icon={action.icon}
            keys={action.keys?.[0]}
            danger={action.danger ?? false}
            onSelect={() => void perform(action, context)}
          >
            {titleOf(action, context)}
          </MenuItem>
        </Fragment>
      ))}
    </Menu>
  );
}
