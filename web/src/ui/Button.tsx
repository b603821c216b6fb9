// Buttons: one look for each weight. An icon alone has a label, which is its tooltip too.

import clsx from "clsx";
import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, Ref } from "react";
import { tip } from "./Tips";

type Weight = "main" | "plain" | "quiet" | "danger";

const LOOK: Record<Weight, string> = {
  main: "bg-accent text-on-accent hover:brightness-110",
  plain: "border border-line bg-raised hover:bg-hover",
  quiet: "text-soft hover:bg-hover hover:text-text",
  danger: "border border-line text-bad hover:bg-bad-soft",
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  weight?: Weight;
  icon?: LucideIcon;
  busy?: boolean;
  small?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  weight = "plain",
  icon: Icon,
  busy,
  small,
  className,
  children,
  disabled,
  ...rest
}: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      className={clsx(
        "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium transition-colors",
        "disabled:cursor-default disabled:opacity-50",
        small ? "h-7 px-2 text-xs" : "h-8 px-3 text-sm",
        "max-sm:min-h-10",
        LOOK[weight],
        className,
      )}
    >
      {busy ? (
        <LoaderCircle aria-hidden className="size-4 animate-spin" />
      ) : (
        Icon && <Icon aria-hidden className="size-4 shrink-0" />
      )}
      {children}
    </button>
  );
}

interface IconProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  label: string;
  keys?: string | undefined;
  small?: boolean;
  /** The one that is meant to be pressed. */
  main?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ icon: Icon, label, keys, small, main, className, ...rest }: IconProps) {
  return (
    <button
      type="button"
      aria-label={label}
      {...tip(label, keys)}
      {...rest}
      className={clsx(
        "inline-flex shrink-0 items-center justify-center rounded-md transition-colors",
        "disabled:cursor-default disabled:opacity-50 aria-pressed:bg-chosen",
        main ? LOOK.main : LOOK.quiet,
        small ? "size-7" : "size-8",
        "max-sm:size-10",
        className,
      )}
    >
      <Icon aria-hidden className={small ? "size-3.5" : "size-4"} />
    </button>
  );
}
