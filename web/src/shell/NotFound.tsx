// Shown where there is nothing: an address that leads nowhere, or a chat that is not there.

import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { texts } from "@/texts";

export function NotFound() {
  return (
    <main className="flex h-full min-h-60 flex-col items-center justify-center gap-2 p-6 text-center">
      <Compass aria-hidden className="size-8 text-faint" />
      <h1 className="font-semibold">{texts.problems.notFound}</h1>
      <p className="max-w-prose text-soft text-sm">{texts.problems.notFoundHint}</p>
      <Link to="/" className="text-accent-text text-sm underline underline-offset-2">
        {texts.problems.home}
      </Link>
    </main>
  );
}
