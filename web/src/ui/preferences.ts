// What a person chose for this browser: theme, keys, the layout. Kept in local storage; everything has a
// default, so a storage that is full or forbidden costs nothing.

import { create } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";

export type Theme = "light" | "dark" | "system";

export interface Preferences {
  theme: Theme;
  enterSends: boolean;
  notifications: boolean;
  listOpen: boolean;
  listWidth: number;
  panelOpen: boolean;
  panelWidth: number;
  /** The panel that was shown last. */
  panel: string | null;
}

export const LIST_WIDTHS = { least: 200, most: 480 };
export const PANEL_WIDTHS = { least: 300, most: 1100 };

const DEFAULTS: Preferences = {
  theme: "system",
  enterSends: true,
  notifications: true,
  listOpen: true,
  listWidth: 272,
  panelOpen: false,
  panelWidth: 480,
  panel: null,
};

export const usePreferences = create<Preferences>()(
  persist(() => DEFAULTS, { name: "holdfast.preferences", storage: createJSONStorage(() => localStorage) }),
);

export function prefer(change: Partial<Preferences>): void {
  usePreferences.setState(change);
}

/** Keeps the document's theme what was chosen, and what the system has where that was chosen. */
export function followTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const { theme } = usePreferences.getState();
    document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  };
  apply();
  dark.addEventListener("change", apply);
  usePreferences.subscribe(apply);
}
