// Shown where a route could not be loaded: most often because the server is not there.

import { useRouter } from "@tanstack/react-router";
import { textOf } from "@/api/problem";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";

export function Broken({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <main className="flex h-dvh flex-col items-center justify-center gap-3 p-6 text-center">
      <h1 className="font-semibold">{texts.problems.broken}</h1>
      <p role="alert" className="max-w-prose text-soft text-sm">
        {textOf(error)}
      </p>
      <Button weight="main" onClick={() => void router.invalidate()}>
        {texts.problems.tryAgain}
      </Button>
    </main>
  );
}
