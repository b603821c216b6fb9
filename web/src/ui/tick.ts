// The moment in milliseconds, moving on while something goes on.

import { useEffect, useState } from "react";

const EVERY_MS = 500;

export function useTick(goesOn: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!goesOn) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, [goesOn]);
  return now;
}
