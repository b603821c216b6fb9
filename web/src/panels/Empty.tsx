// What a panel says that has nothing to show yet.

import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  icon: LucideIcon;
  title: string;
  hint: ReactNode;
  children?: ReactNode;
}

export function Empty({ icon: Icon, title, hint, children }: Props) {
  return (
    <div className="flex h-full flex-col items-center justify-center gap-2 p-6 text-center">
      <Icon aria-hidden className="size-7 text-faint" />
      <p className="font-medium text-sm">{title}</p>
      <p className="max-w-sm text-pretty text-soft text-sm">{hint}</p>
      {children}
    </div>
  );
}
