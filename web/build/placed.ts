// Puts the built files where the server takes them, all at once: a server that runs never serves half a page.

import { cp, mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Plugin } from "vite";

export function placed(target: string): Plugin {
  let built = "";
  return {
    name: "placed",
    apply: "build",
    configResolved(config) {
      built = config.build.outDir;
    },
    closeBundle: {
      // After everything else has been done to the files.
      order: "post",
      sequential: true,
      async handler() {
        const [fresh, old] = [`${target}.${process.pid}.new`, `${target}.${process.pid}.old`];
        await mkdir(dirname(target), { recursive: true });
        // Copied first: the two may be on different disks.
        await cp(built, fresh, { recursive: true });
        await rename(target, old).catch(() => undefined);
        await rename(fresh, target);
        for (const left of [old, built]) await rm(left, { recursive: true, force: true });
      },
    },
  };
}
