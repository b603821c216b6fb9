import { fileURLToPath } from "node:url";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { compressed } from "./build/compressed.ts";
import { placed } from "./build/placed.ts";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
// `npm run dev` shows the page with a server that runs beside it.
const server = process.env.HOLDFAST_URL ?? "http://127.0.0.1:8420";

export default defineConfig({
  plugins: [react(), tailwind(), compressed(), placed(path("../src/holdfast/page"))],
  resolve: { alias: { "@": path("./src") } },
  build: {
    // Of this process alone: two builds at once do not meet.
    outDir: path(`./node_modules/.built-${process.pid}`),
    emptyOutDir: true,
    target: "es2023",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // Nothing inline: the content security policy allows files of this server and nothing else.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What counts is the size of the first load, compressed: see size.test.ts.
    chunkSizeWarningLimit: 2000,
  },
  server: {
    proxy: Object.fromEntries(["/api", "/docs"].map(at => [at, { target: server, changeOrigin: true }])),
  },
  test: {
    include: ["src/**/*.test.{ts,tsx}", "build/**/*.test.ts"],
    environment: "node",
    // Cheaper to start than processes, and as separate: every file has its own.
    pool: "threads",
    restoreMocks: true,
    // A busy machine is no defect of a test.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
