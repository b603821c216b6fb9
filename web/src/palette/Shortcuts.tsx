// The keys of all actions, from their registry.

import { Fragment } from "react";
import { ACTIONS } from "@/actions/all";
import { useActionContext } from "@/actions/hooks";
import { type Section, titleOf } from "@/actions/registry";
import { keysShown } from "@/composer/keys";
import { texts } from "@/texts";
import { Keys } from "@/ui/Keys";
import { Modal } from "@/ui/Modal";
import { usePreferences } from "@/ui/preferences";

const THEN: readonly Section[] = ["chat", "view", "settings"];

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Modal title={texts.shortcuts.title} wide onClose={onClose}>
      {/* In this order the two columns are of one length. */}
      <div className="gap-x-8 sm:columns-2">
        <OfSection section="general" />
        <Writing />
        {THEN.map(section => (
          <OfSection key={section} section={section} />
        ))}
      </div>
      <p className="text-faint text-xs">{texts.shortcuts.hint}</p>
    </Modal>
  );
}

function OfSection({ section }: { section: Section }) {
  const context = useActionContext();
  const some = ACTIONS.filter(action => action.section === section && action.keys);
  if (some.length === 0) return null;
  return (
    <section className="mb-5 break-inside-avoid">
      <h3 className="mb-1.5 font-medium text-faint text-xs">{texts.actions.sections[section]}</h3>
      <dl className="flex flex-col gap-1.5 text-sm">
        {some.map(action => (
          <div key={action.id} className="flex items-center justify-between gap-4">
            <dt>{titleOf(action, context)}</dt>
            <dd className="flex items-center gap-1.5">
              {action.keys?.map((keys, index) => (
                <Fragment key={keys}>
                  {index > 0 && <span className="text-faint text-xs">{texts.shortcuts.or}</span>}
                  <Keys keys={keys} />
                </Fragment>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** What keys do in the composer, which hears them itself. */
function Writing() {
  const enterSends = usePreferences(state => state.enterSends);
  return (
    <section className="mb-5 break-inside-avoid">
      <h3 className="mb-1.5 font-medium text-faint text-xs">{texts.shortcuts.writing}</h3>
      <dl className="flex flex-col gap-1.5 text-sm">
        {keysShown(enterSends).map(([what, keys]) => (
          <div key={what} className="flex items-center justify-between gap-4">
            <dt>{texts.shortcuts.keys[what]}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
