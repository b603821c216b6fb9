import { expect, test } from "vitest";
import { curlOf } from "./curl";

test("a request becomes a command, with a variable where the key was", () => {
  const command = curlOf({
    method: "POST",
    url: "https://api.example/v1/chat?key=[redacted]",
    request_headers: {
      "Content-Type": "application/json",
      Authorization: "[redacted]",
      "x-api-key": "[redacted]",
    },
    request_body: `{"text":"it's"}`,
  });
  expect(command.split(" \\\n  ")).toEqual([
    "curl -N -X 'POST' 'https://api.example/v1/chat?key=[redacted]'",
    "-H 'Content-Type: application/json'",
    `-H 'Authorization: Bearer '"$API_KEY"`,
    `-H 'x-api-key: '"$API_KEY"`,
    `--data-raw '{"text":"it'\\''s"}'`,
  ]);
});

test("nothing in a request is run by the shell", () => {
  const command = curlOf({
    method: "POST",
    url: "u",
    request_headers: {},
    request_body: "'; rm -rf / #$(x)`y`",
  });
  expect(command).toContain(`--data-raw ''\\''; rm -rf / #$(x)\`y\`'`);
});
