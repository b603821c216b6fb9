// Writes every built file compressed beside itself, so that the server only has to choose.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

const WORTH_IT_BYTES = 1024;
const TEXTS = /\.(js|css|html|svg|json|wasm|ttf)$/;
const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

export function compressed(): Plugin {
  let directory = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved(config) {
      directory = config.build.outDir;
    },
    closeBundle: {
      sequential: true,
      async handler() {
        const names = await readdir(directory, { recursive: true });
        await Promise.all(
          names.filter(name => TEXTS.test(name)).map(name => compress(join(directory, name))),
        );
      },
    },
  };
}

async function compress(path: string): Promise<void> {
  const content = await readFile(path);
  if (content.length < WORTH_IT_BYTES) return;
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  await writeFile(`${path}.br`, await brotli(content, { params: quality }));
  await writeFile(`${path}.gz`, await gzipped(content, { level: 9 }));
}
