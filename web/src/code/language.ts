// The language of a file, by its name.

const LANGUAGES: Record<string, string> = {
  py: "python",
  ts: "typescript",
  tsx: "typescript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  md: "markdown",
  sh: "bash",
  yml: "yaml",
  rs: "rust",
  rb: "ruby",
  kt: "kotlin",
  cs: "csharp",
  h: "c",
  hpp: "cpp",
  cc: "cpp",
  toml: "ini",
  html: "xml",
  svg: "xml",
};

/** Empty: nobody knows. */
export function languageOf(path: string): string {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return LANGUAGES[ending] ?? ending;
}
