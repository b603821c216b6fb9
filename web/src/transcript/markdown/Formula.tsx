// A formula as MathML, made when it is first seen. What is no formula is shown as it was written.

import { useEffect, useRef, useState } from "react";

const LONGEST = 2_000;

export function Formula({ text, display }: { text: string; display: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let wanted = text.length <= LONGEST;
    if (!wanted) return;
    void import("temml").then(
      ({ default: temml }) => {
        if (!wanted || place.current === null) return;
        try {
          const limits = { maxExpand: 200, maxSize: [20, 200] as [number, number] };
          temml.render(text, place.current, { displayMode: display, throwOnError: true, ...limits });
          setShown(true);
        } catch {
          place.current.replaceChildren();
          setShown(false);
        }
      },
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [text, display]);
  return (
    <span className={display ? "my-3 block overflow-x-auto" : "inline"}>
      {!shown && <code className="font-mono text-[0.875em]">{text}</code>}
      <span ref={place} />
    </span>
  );
}
