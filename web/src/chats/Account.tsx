// Who is signed in, with the settings and the way out.

import { CircleUser } from "lucide-react";
import { actionOf } from "@/actions/all";
import { useActionContext } from "@/actions/hooks";
import { isOffered, perform, titleOf } from "@/actions/registry";
import { useSession } from "@/api/queries";
import { texts } from "@/texts";
import { Menu, MenuItem, MenuTitle } from "@/ui/Menu";

const OFFERED = [
  "palette",
  "shortcuts",
  "theme.light",
  "theme.dark",
  "theme.system",
  "settings",
  "docs",
  "docs.api",
  "sign-out",
];

export function Account() {
  const context = useActionContext();
  const name = useSession().data?.user.name ?? "";
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={texts.shell.account(name)}
          className="flex h-8 max-sm:h-10 min-w-0 flex-1 items-center gap-2 rounded-md px-2 text-soft text-sm hover:bg-hover hover:text-text"
        >
          <CircleUser aria-hidden className="size-4 shrink-0" />
          <span className="truncate">{name}</span>
        </button>
      }
    >
      <MenuTitle>{texts.shell.account(name)}</MenuTitle>
      {OFFERED.map(actionOf)
        .filter(action => isOffered(action, context))
        .map(action => (
          <MenuItem
            key={action.id}
            icon={action.icon}
            keys={action.keys?.[0]}
            onSelect={() => void perform(action, context)}
          >
            {titleOf(action, context)}
          </MenuItem>
        ))}
    </Menu>
  );
}
