// Tells screen readers what happened, in whole sentences and never by the word.

import { useView } from "@/ui/view";

export function Announcer() {
  const { text, n } = useView(view => view.announcement);
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {/* Another key, so that the same sentence is told again. */}
      <span key={n}>{text}</span>
    </div>
  );
}
