// What a person chose for this browser.

import clsx from "clsx";
import { askLeave } from "@/notify/notifier";
import { texts } from "@/texts";
import { SwitchField } from "@/ui/Field";
import { prefer, type Theme, usePreferences } from "@/ui/preferences";
import { toast } from "@/ui/view";
import { RecordAll } from "./RecordAll";

const t = texts.settings.appearance;
const THEMES: readonly Theme[] = ["light", "dark", "system"];

export function Appearance() {
  const { theme, enterSends, notifications } = usePreferences();
  const allowed = typeof Notification !== "undefined" && Notification.permission === "granted";
  const setNotifications = async (wanted: boolean) => {
    if (wanted && !(await askLeave())) {
      toast(t.notificationsDenied, "bad");
      return;
    }
    prefer({ notifications: wanted });
  };
  return (
    <div className="flex flex-col gap-6">
      <fieldset>
        <legend className="mb-2 font-medium text-sm">{t.theme}</legend>
        <div className="inline-flex rounded-lg border p-0.5">
          {THEMES.map(one => (
            <label
              key={one}
              className={clsx(
                "cursor-pointer rounded-md px-3 py-1 text-sm has-focus-visible:outline-2 has-focus-visible:outline-focus",
                theme === one ? "bg-chosen font-medium" : "text-soft hover:text-text",
              )}
            >
              <input
                type="radio"
                name="theme"
                className="sr-only"
                checked={theme === one}
                onChange={() => prefer({ theme: one })}
              />
              {t[one]}
            </label>
          ))}
        </div>
      </fieldset>
      <SwitchField
        label={t.enterSends}
        hint={t.enterSendsHint}
        checked={enterSends}
        onValue={value => prefer({ enterSends: value })}
      />
      <SwitchField
        label={t.notifications}
        hint={t.notificationsHint}
        checked={notifications && allowed}
        onValue={value => void setNotifications(value)}
      />
      <p className="text-faint text-xs">{t.keptHere}</p>
      <section className="flex flex-col gap-2">
        <h3 className="font-medium text-sm">{t.privacy}</h3>
        <RecordAll hint={t.recordHint} />
      </section>
    </div>
  );
}
