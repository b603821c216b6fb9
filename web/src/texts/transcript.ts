// The conversation: messages, what can be done with them, what happens now.

import { plural } from "./plural";

export const transcript = {
  label: "Conversation",
  you: "You",
  agent: "Agent",
  tool: "Tools",
  system: "Holdfast",
  latest: "Jump to latest",
  older: "Loading earlier messages…",
  code: "code",
  copyCode: "Copy code",
  cannotCopy: "The browser blocked copying.",
  moreText: (characters: number) => `Show more (${characters.toLocaleString("en")} characters)`,
  show: "Show",
  hide: "Hide",
  picture: (text: string) => (text === "" ? "image" : `image: ${text}`),
  leavesTo: (url: string) => `This link goes to ${url}`,
  openLink: "Open link",
  taskDone: "done",
  taskOpen: "open",
  thinking: (took: string | null) => (took === null ? "Thinking…" : `Thinking… ${took}`),
  thought: (took: string | null) => (took === null ? "Thought" : `Thought for ${took}`),
  interrupted: "Interrupted here.",
  moreSteps: (count: number, what: string) =>
    `${plural(count, "earlier step", "earlier steps")}${what === "" ? "" : `: ${what}`}`,
  fewerSteps: "Show fewer steps",
  download: (name: string) => `Download ${name}`,
  openPicture: (name: string) => `Open ${name}`,
  pictureOf: (at: number, count: number) => `${at} of ${count}`,
  nextPicture: "Next image",
  previousPicture: "Previous image",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  copy: "Copy",
  link: "Copy a link to this message",
  linkGone: "This message is no longer in the chat.",
  edit: "Edit and run again",
  editLabel: "Edit the message",
  editHint: "Messages after it are removed from the conversation.",
  editSave: "Run again",
  rewind: "Rewind to before this message",
  rewound: "Rewound.",
  undoRewind: "Undo",
  rewindSure: (seen: {
    files: readonly { path: string; conflict: string | null }[];
    removed_messages: number;
  }) => {
    const changed = seen.files.filter(file => file.conflict === null).map(file => file.path);
    const left = seen.files.filter(file => file.conflict !== null);
    const lines = [
      `${plural(seen.removed_messages, "message is", "messages are")} removed from the conversation.`,
      changed.length === 0
        ? "No file changes."
        : `${plural(changed.length, "file is", "files are")} restored: ${changed.slice(0, 10).join(", ")}${changed.length > 10 ? ", …" : ""}.`,
      ...left.map(file => `${file.path} is left unchanged: ${file.conflict}.`),
    ];
    return lines.join(" ");
  },
  runAgain: "Run again",
  runAgainSure: "Run this again? Messages after it are removed from the conversation.",
  fork: "Fork here",
  forked: "This is a fork.",
  pin: "Pin",
  unpin: "Unpin",
  pinned: "Pinned messages",
  pinnedStep: "An agent step",
  jumpToPinned: (text: string) => `Jump to pinned: ${text}`,
  notices: {
    agent: "A sub-agent ended",
    instructions: "Workspace instructions",
    instructions_renewed: "You gave the agent the new instructions",
    check: "The check failed",
    hook: "A hook says",
    hook_more: "A hook wants one more step",
    hook_stopped: "A hook ended the turn",
    hook_blocked: "A hook blocked a message",
    hook_overruled: "The turn ended although a hook objected",
    uncertain_call: "You told the agent how a call ended",
    interrupted: "Interrupted",
    skills: "Workspace skills",
    mode: (mode: string) => `Mode: ${mode}`,
  },
  /** How a background agent ended, by the outcome of its turn. */
  agentEnds: {
    finished: "A sub-agent finished",
    interrupted: "A sub-agent was stopped",
    failed: "A sub-agent failed",
  },
  workflow: {
    started: (name: string) => `Workflow ${name}`,
    agents: (done: number, made: number) => `${done} of ${made} ${made === 1 ? "agent" : "agents"} done`,
    agentsAll: (count: number) => `${count} ${count === 1 ? "agent" : "agents"}`,
    needsYou: "needs you",
    ended: {
      succeeded: (name: string) => `Workflow ${name} is done`,
      failed: (name: string) => `Workflow ${name} failed`,
      cancelled: (name: string) => `Workflow ${name} was cancelled`,
    },
    result: { succeeded: "Show result", failed: "Show why" },
    open: "Open run",
  },
  live: {
    reconnecting: "Connection lost. Reconnecting…",
    stopping: "Stopping…",
    capacity: "Queued: waiting for a free slot on the server",
    held: "Waiting: the next message is on hold",
    children: "Waiting for sub-agents",
    needsYou: (what: "approval" | "question" | "plan" | "uncertain" | "client_tool" | "several") =>
      ({
        approval: "Waiting for your approval",
        question: "Waiting for your answer",
        plan: "Waiting for your decision on the plan",
        uncertain: "Waiting: a call may or may not have finished",
        client_tool: "Waiting for a program to answer",
        several: "Waiting for you",
      })[what],
    retrying: (seconds: number, why: string, attempt: number) =>
      `Retrying in ${seconds} s (attempt ${attempt} failed): ${why}`,
    connecting: (model: string | null) =>
      model === null ? "Connecting to the model…" : `Connecting to ${model}…`,
    connectingAgain: (attempt: number) => `Connecting, attempt ${attempt}…`,
    thinking: "Thinking…",
    writing: "Writing…",
    summarising: "Summarizing the conversation…",
    calling: (name: string) => `Preparing ${name}…`,
    running: (name: string) => `Running ${name}…`,
    runningMany: (count: number) => `Running ${count} calls…`,
    speed: (perSecond: number) => `${perSecond} tokens/s`,
    context: (used: string, limit: string | null) =>
      limit === null ? `${used} tokens in the context` : `context ${used} of ${limit}`,
  },
  failed: {
    title: "The agent failed",
    details: "Details",
    retry: "Try again",
    settings: "Models and providers",
    hints: {
      auth: "The provider rejected the API key. Check the key, then try again.",
      usage_limit: "The provider account has no credit or quota left. Add credit, or choose another model.",
      config:
        "The model or its provider is not set up correctly. Fix it in Settings, or choose another model.",
      disabled: "The model is disabled. Enable it in Settings, or choose another model below.",
      content_filter: "The provider refused to answer. Rephrase the message, or choose another model.",
      context_overflow:
        "The conversation is too long for this model. Summarize it with /compact, or choose a model with a larger context.",
      output_limit:
        "This model can't write answers as long as configured. Lower its maximum output in Settings.",
      no_tools: "This model can't use tools. Turn them off for it in Settings, or choose another model.",
      overloaded: "The provider is overloaded. Try again later, or choose another model.",
      rate_limit: "The provider's rate limit is reached. Try again later.",
      timeout: "The provider did not answer in time. Try again.",
      transport: "The provider could not be reached. Check the network, then try again.",
      server: "The provider had an internal error. Try again.",
      budget_exhausted: "This chat's budget is used up. Raise it, then try again.",
      set_aside:
        "The server crashed repeatedly while working on this chat. Retry only if you know the cause.",
      step_limit: "The turn reached its step limit. Send a message to continue.",
    },
  },
} as const;
