// Written from the server's OpenAPI document by `make docs`. What the server may leave out is optional in
// what it answers; what has a default may be left out of what it is sent.

export interface Action {
  calls: ActionCall[];
}

export interface ActionCall {
  call_id: string;
  kind: "client_tool" | "question" | "plan" | "approval" | "uncertain";
  name: string;
  input: unknown;
  deadline_at: string | null;
  chat_id: string;
}

export interface AnswerQuestion {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, unknown> | null;
}

export interface Approval {
  by: "person" | "rule";
  decision: "approve" | "deny" | "retry" | "done" | "skip" | null;
  user_id: string | null;
  rule: string | null;
  scope: "once" | "chat" | "always";
  host: string | null;
  note: string | null;
  at: string;
}

export interface ApprovalRule {
  id: string;
  tool: string;
  host: string | null;
  allowed: boolean;
  user_id: string | null;
  note: string | null;
  at: string;
}

export interface ApprovalRulePage {
  items: ApprovalRule[];
  next_cursor: string | null;
}

export interface ApproveTools {
  tools?: string[] | null;
}

export interface AuditEntry {
  id: string;
  at: string;
  user_id: string | null;
  action: string;
  target: string | null;
  outcome: "done" | "denied";
  detail: unknown;
}

export interface AuditEntryPage {
  items: AuditEntry[];
  next_cursor: string | null;
}

export interface Branch {
  label: string | null;
  when: string | null;
  steps: string[];
}

export interface Budget {
  tokens: number | null;
  cost_usd_micros: number | null;
  spent_tokens: number;
  spent_usd_micros: number;
}

export interface BudgetIn {
  tokens?: number | null;
  cost_usd_micros?: number | null;
}

export interface BuildWorkspace {
  template: string;
  name?: string | null;
  parameters?: Record<string, unknown>;
}

export interface CallOutput {
  call_id: string;
  name: string;
  output: unknown;
  truncated: boolean;
  source: string | null;
}

export interface CallShown {
  id: string;
  kind: "agent" | "workflow";
  label: string | null;
  phase: string | null;
  status: "pending" | "running" | "succeeded" | "failed" | "cancelled";
  needs_you: boolean;
  reused: boolean;
  chat_id: string | null;
  usage: Usage | null;
  error: string | null;
  started_at: string | null;
  finished_at: string | null;
}

export interface CaughtUp {
}

export interface ChangeAgent {
  name?: string;
  description?: string;
  instructions?: string;
  model?: string | null;
  effort?: string | null;
  tools?: string[] | null;
  published?: boolean;
  mode?: string | null;
  writes?: "direct" | "review" | null;
}

export interface ChangeChat {
  title?: string;
  archived?: boolean;
  labels?: string[];
  pinned?: boolean;
  model?: string | null;
  effort?: string | null;
  budget?: BudgetIn | null;
  tools?: string[] | Record<string, "auto" | "ask" | "allow" | "deny"> | null;
  max_steps?: number | null;
  provider_tools?: ("web_search" | "code_execution")[] | null;
  workspace_id?: string | null;
  mode?: string;
  writes?: "direct" | "review";
  debug?: boolean;
  web?: boolean;
}

export interface ChangeDecision {
  all?: boolean | null;
  paths?: string[] | null;
  changes?: ChosenIn[] | null;
  turn?: number | null;
  checkpoint?: string | null;
}

export interface ChangeQueued {
  content?: string | (TextIn | FileIn)[];
  position?: number;
  held?: boolean;
  hold_token?: string | null;
}

export interface ChangeServer {
  command?: string;
  args?: string[];
  url?: string;
  env?: Record<string, string | null>;
  headers?: Record<string, string | null>;
  enabled?: boolean;
  approval?: "auto" | "ask" | "allow" | "deny" | null;
  tools?: string[];
  timeout_seconds?: number;
  trusted?: boolean;
  wall?: boolean;
  network?: "none" | "internet" | "host" | null;
}

export interface ChangeShown {
  id: string;
  chat_id: string;
  path: string;
  operation: "create" | "edit" | "delete" | "rename";
  additions: number;
  deletions: number;
  diff: string;
  diff_hash: string;
  hunks: number;
  diff_left_out: boolean;
  turn: number;
  step: number;
  state: "pending" | "applied" | "rejected" | "reverted" | "conflict";
  agent: string | null;
  message_id: string | null;
  old_path: string | null;
  collisions: string[];
  advice: string[];
  decided_by: string | null;
  decided_at: string | null;
}

export interface ChangeUser {
  name?: string | null;
  role?: "admin" | "member" | null;
  suspended?: boolean | null;
}

export interface ChangedFile {
  id: string;
  path: string;
  operation: "create" | "delete" | "edit" | "rename";
  additions: number;
  deletions: number;
  diff: string;
  turn: number;
  step: number;
  state: "applied" | "conflict" | "pending" | "rejected" | "reverted";
}

export interface ChangedSegment {
  kind: "system" | "tools" | "instructions" | "skills" | "memory" | "summary" | "message" | "files";
  label: string;
  tokens: number;
  message_id: string | null;
  text: string | null;
}

export interface Changes {
  items: ChangeShown[];
  checkpoints: CheckpointShown[];
  next_cursor: string | null;
}

export interface ChangesData {
  items: ChangedFile[];
}

export interface Chat {
  id: string;
  title: string;
  summary: string;
  status: "idle" | "running" | "interrupting" | "requires_action" | "error";
  waiting: "capacity" | "held" | "children" | null;
  archived: boolean;
  model: string | null;
  effort: string | null;
  owner_id: string;
  parent_id: string | null;
  parent_call_id: string | null;
  root_id: string;
  run_id: string | null;
  origin: FromPerson | FromChat | FromRun | FromFlowStep | FromFork;
  workspace_id: string | null;
  labels: string[];
  pinned: boolean;
  version: number;
  history_version: number;
  queue_length: number;
  last_error: Failure | null;
  retry: Retry | null;
  action: Action | null;
  budget: Budget | null;
  usage: Usage;
  created_at: string;
  updated_at: string;
  last_turn: LastTurn | null;
  children: number;
  max_steps: number | null;
  provider_tools: ("web_search" | "code_execution")[] | null;
  mode: string;
  writes: "direct" | "review";
  debug: boolean;
  web: boolean;
}

export interface ChatContext {
  used: number;
  limit: number | null;
  threshold: number;
  segments: ContextSegment[];
  instructions: "none" | "unchanged" | "changed" | "renewing";
}

export interface ChatExport {
  holdfast_export: 1;
  chat: Record<string, unknown>;
  messages: Record<string, unknown>[];
}

export interface ChatUsage {
  total: Usage;
  turns: TurnUsage[];
}

export interface CheckpointShown {
  id: string;
  kind: string;
  turn: number;
  step: number;
  at: string;
  skipped: string[];
}

export interface ChooseDefault {
  name: string | null;
}

export interface ChosenIn {
  id: string;
  hunks?: number[] | null;
  diff_hash?: string | null;
}

export interface ClientToolIn {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
}

export interface Closing {
  reason: "access" | "closing" | "deleted" | "failed" | "over" | "slow";
}

export interface CodeMapShown {
  text: string;
  files: number;
  left_out: number;
}

export interface Collision {
  path: string;
  severity: "near_lines" | "same_file" | "same_lines";
  chats: string[];
}

export interface ComeBack {
  state: string;
  code: string;
  iss?: string | null;
}

export interface CommitFiles {
  message: string;
  paths?: string[] | null;
}

export interface Committed {
  commit: string;
  branch: string | null;
}

export interface ConnectServer {
  redirect_uri: string;
}

export interface Connecting {
  url: string | null;
}

export interface ContextSegment {
  kind: "system" | "tools" | "instructions" | "skills" | "memory" | "summary" | "message" | "files";
  label: string;
  tokens: number;
  message_id: string | null;
  error: string | null;
  drift: "changed" | "added" | "removed" | null;
}

export interface CreateAgent {
  name: string;
  description?: string;
  instructions?: string;
  model?: string | null;
  effort?: string | null;
  tools?: string[] | null;
  published?: boolean;
  mode?: string | null;
  writes?: "direct" | "review" | null;
}

export interface CreateChat {
  content: string | (TextIn | FileIn)[];
  title?: string | null;
  model?: string | null;
  effort?: string | null;
  workspace_id?: string | null;
  agent?: string | null;
  instructions?: string | null;
  client_tools?: unknown[];
  labels?: unknown[];
  budget?: BudgetIn | null;
  tools?: string[] | Record<string, "auto" | "ask" | "allow" | "deny"> | null;
  max_steps?: number | null;
  provider_tools?: ("web_search" | "code_execution")[] | null;
  mode?: string | null;
  writes?: "direct" | "review" | null;
  debug?: boolean;
  web?: boolean;
}

export interface CreateServer {
  name: string;
  shared?: boolean | null;
  command?: string;
  args?: unknown[];
  url?: string;
  env?: Record<string, string>;
  headers?: Record<string, string>;
  enabled?: boolean;
  approval?: "auto" | "ask" | "allow" | "deny" | null;
  tools?: unknown[];
  timeout_seconds?: number;
  trusted?: boolean;
  wall?: boolean;
  network?: "none" | "internet" | "host" | null;
}

export interface CreateToken {
  name: string;
  scopes?: unknown[];
  expires_at?: string | null;
}

export interface CreateUser {
  name: string;
  role?: "admin" | "member";
}

export interface CreateWorkspace {
  name: string;
  path: string;
}

export interface DebugAttempt {
  number: number;
  status: "completed" | "failed";
  method: string;
  url: string;
  request_headers: Record<string, string>;
  request_body: string | null;
  response_headers: Record<string, string>;
  response_body: string | null;
  status_code: number | null;
  error: string | null;
  started_at: string;
  finished_at: string;
  duration_ms: number;
}

export interface DebugData {
  debug_run: DebugRun;
}

export interface DebugRun {
  id: string;
  chat_id: string;
  kind: "chat_turn" | "title" | "summary" | "compaction";
  status: "in_progress" | "interrupted" | "error" | "completed";
  turn: number;
  message_id: string | null;
  history_message_id: string | null;
  provider: string | null;
  model: string | null;
  started_at: string;
  finished_at: string | null;
  summary: DebugSummary;
}

export interface DebugRunDetail {
  id: string;
  chat_id: string;
  kind: "chat_turn" | "title" | "summary" | "compaction";
  status: "in_progress" | "interrupted" | "error" | "completed";
  turn: number;
  message_id: string | null;
  history_message_id: string | null;
  provider: string | null;
  model: string | null;
  started_at: string;
  finished_at: string | null;
  summary: DebugSummary;
  steps: DebugStep[];
  next_step: number | null;
}

export interface DebugRunPage {
  items: DebugRun[];
  next_cursor: string | null;
}

export interface DebugStep {
  id: string;
  number: number;
  operation: "stream" | "generate";
  status: "in_progress" | "interrupted" | "error" | "completed";
  request: unknown;
  response: unknown;
  usage: Usage | null;
  error: Failure | null;
  history_message_id: string | null;
  started_at: string;
  finished_at: string | null;
  attempts: DebugAttempt[];
}

export interface DebugSummary {
  first_message: string;
  steps: number;
  usage: Usage;
  has_error: boolean;
  label: string;
}

export interface DecideStep {
  decision: "approve" | "deny";
  note?: string | null;
  answer?: unknown;
}

export interface DecideTemplate {
  template: string;
  hash: string;
  decision: "trust" | "refuse";
}

export interface DecideTrust {
  items: unknown[];
  decision: "trust" | "refuse";
}

export interface DecidedChanges {
  items: ChangeShown[];
  conflicts: PathConflict[];
}

export interface DecidedItem {
  path: string;
  hash: string;
}

export interface Decision {
  decision: "approve" | "deny" | "retry" | "done" | "skip";
  scope?: "once" | "chat" | "always";
  note?: string | null;
  output?: unknown;
}

export interface DirectoryShown {
  path: string;
  workspace: WorkspaceShown | null;
  allowed: boolean;
  reason: string | null;
}

export interface EditMessage {
  content: string | (TextIn | FileIn)[];
  model?: string | null;
  effort?: string | null;
}

export interface Failure {
  kind: string;
  message: string;
  detail: string | null;
  provider: string | null;
  status_code: number | null;
  retryable: boolean;
}

export interface FieldError {
  field: string;
  message: string;
}

export interface File {
  file_id: string;
  media_type: string;
  name: string;
  size: number;
  type: "file";
}

export interface FileAction {
  path: string;
  action: "restore" | "delete" | "merge" | "leave";
  conflict: string | null;
}

export interface FileIn {
  file_id: string;
  type: "file";
}

export interface FileShown {
  id: string;
  name: string;
  media_type: string;
  size: number;
  created_at: string;
}

export interface FileUpload {
  file: string;
}

export interface FileView {
  path: string;
  text: string;
  size: number;
  truncated: boolean;
  binary: boolean;
}

export interface FlowAnswer {
  decision: "approve" | "deny";
  by: string | null;
  note: string | null;
  answer: unknown;
}

export interface FlowError {
  message: string;
  steps: string[];
}

export interface FlowGraph {
  steps: GraphStep[];
  batches: GraphBatch[];
  output: string | null;
}

export interface FlowLineShown {
  number: number;
  kind: "log" | "warning";
  text: string;
  step_id: string | null;
  at: string;
}

export interface FlowListed {
  name: string;
  description: string | null;
  when_to_use: string | null;
  args: Record<string, unknown> | null;
  budget: number | null;
  steps: number;
  source: "project" | "home" | "catalogue";
  path: string;
  hides_builtin: boolean;
  hidden_by: string | null;
  error: string | null;
  line: number | null;
  column: number | null;
}

export interface FlowListedPage {
  items: FlowListed[];
  next_cursor: string | null;
}

export interface FlowRunData {
  id: string;
  name: string;
  status: "cancelled" | "failed" | "pending" | "running" | "succeeded" | "timed_out" | "waiting";
  error: FlowError | null;
  budget: Budget;
  resumed_from: string | null;
  reuse: string | null;
  workspace_id: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  args: unknown;
  result: unknown;
}

export interface FlowRunListed {
  id: string;
  name: string;
  status: "pending" | "running" | "waiting" | "succeeded" | "failed" | "timed_out" | "cancelled";
  error: FlowError | null;
  budget: Budget;
  resumed_from: string | null;
  reuse: string | null;
  workspace_id: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface FlowRunListedPage {
  items: FlowRunListed[];
  next_cursor: string | null;
}

export interface FlowRunRead {
  id: string;
  name: string;
  status: "pending" | "running" | "waiting" | "succeeded" | "failed" | "timed_out" | "cancelled";
  error: FlowError | null;
  budget: Budget;
  resumed_from: string | null;
  reuse: string | null;
  workspace_id: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  args: unknown;
  result: unknown;
  flow: string;
  steps: FlowStepShown[];
  switches: FlowSwitch[];
  log: FlowLineShown[];
  reused: number;
  graph: FlowGraph;
}

export interface FlowShown {
  name: string;
  description: string | null;
  when_to_use: string | null;
  args: Record<string, unknown> | null;
  budget: number | null;
  steps: number;
  source: "project" | "home" | "catalogue";
  path: string;
  hides_builtin: boolean;
  hidden_by: string | null;
  error: string | null;
  line: number | null;
  column: number | null;
  text: string;
  graph: FlowGraph | null;
}

export interface FlowStepShown {
  id: string;
  kind: "agent" | "code" | "approval" | "switch" | "workflow" | "wait";
  state: "pending" | "ready" | "running" | "waiting" | "succeeded" | "failed" | "timed_out" | "skipped" | "upstream_failed" | "cancelled";
  reason: "excluded" | "condition" | "trigger_rule" | "upstream_failed" | "slots" | "retry" | "person" | "timer" | "denied" | "approved" | "timeout" | "batch_timeout" | "expression" | "budget" | "error" | "reused" | "cancelled" | null;
  detail: string | null;
  attempt: number;
  batch: string | null;
  chat_id: string | null;
  workflow_run_id: string | null;
  text: string | null;
  output: unknown;
  answer: FlowAnswer | null;
  reused: boolean;
  needs_you: boolean;
  usage: Usage | null;
  started_at: string | null;
  finished_at: string | null;
  deadline_at: string | null;
}

export interface FlowSwitch {
  step_id: string;
  label: string | null;
  steps: string[];
}

export interface ForkChat {
  message_id?: string | null;
  title?: string | null;
}

export interface Found {
  message_id: string;
  line: string;
}

export interface FromChat {
  chat_id: string;
  call_id: string | null;
  kind: "chat";
}

export interface FromFlowStep {
  flow_run_id: string;
  step_id: string;
  kind: "flow_step";
}

export interface FromFork {
  chat_id: string;
  kind: "fork";
}

export interface FromPerson {
  kind: "person";
}

export interface FromRun {
  run_id: string;
  kind: "run";
}

export interface Grant {
  id: string;
  chat_id: string;
  call_id: string;
  path: string;
  kind: "file" | "directory";
  reason: string;
  granted_by: string;
  granted_at: string;
  scope: "once" | "chat" | "always";
}

export interface GrantPage {
  items: Grant[];
  next_cursor: string | null;
}

export interface GraphBatch {
  name: string;
  max: number;
  timeout_seconds: number | null;
  join: "all_success" | "one_success" | "all_done" | "all_failed" | "one_failed" | "none_failed" | "none_failed_min_one_success" | "always" | null;
}

export interface GraphStep {
  id: string;
  kind: "agent" | "code" | "approval" | "switch" | "workflow" | "wait";
  title: string | null;
  deps: string[];
  trigger_rule: "all_success" | "one_success" | "all_done" | "all_failed" | "one_failed" | "none_failed" | "none_failed_min_one_success" | "always";
  when: string | null;
  batch: string | null;
  retries: number;
  timeout_seconds: number | null;
  on_failure: "fail_run" | "continue";
  branches: Branch[];
  form: Record<string, unknown> | null;
  approvers: string[] | null;
}

export interface Health {
  status: "ok" | "stopping" | "unavailable";
}

export interface HistoryReset {
}

export interface HookRunShown {
  id: string;
  hook_id: string;
  chat_id: string | null;
  turn: number;
  event: "user_prompt" | "pre_tool" | "post_tool" | "turn_end" | "agent_end" | "needs_you" | "pre_compact" | "run_end";
  name: string;
  call_id: string | null;
  outcome: "passed" | "changed" | "blocked" | "failed" | "timed_out";
  verdict: HookVerdict;
  exit_code: number | null;
  output: string;
  started_at: string;
  finished_at: string;
}

export interface HookRunShownPage {
  items: HookRunShown[];
  next_cursor: string | null;
}

export interface HookShown {
  id: string;
  source: "config" | "workspace";
  path: string;
  workspace_id: string | null;
  event: "user_prompt" | "pre_tool" | "post_tool" | "turn_end" | "agent_end" | "needs_you" | "pre_compact" | "run_end";
  matcher: string;
  kind: "command" | "url";
  name: string;
  command: string;
  url: string;
  timeout_seconds: number;
  on_failure: "continue" | "block";
  state: "active" | "new" | "changed" | "refused" | "unusable";
  error: string | null;
  last_runs: HookRunShown[];
}

export interface HookShownPage {
  items: HookShown[];
  next_cursor: string | null;
}

export interface HookTrial {
  outcome: "passed" | "changed" | "blocked" | "failed" | "timed_out";
  verdict: HookVerdict;
  exit_code: number | null;
  output: string;
  errors: string;
  given: Record<string, unknown>;
}

export interface HookVerdict {
  ruling: "none" | "allow" | "ask" | "deny";
  reason: string;
  input: Record<string, unknown> | null;
  context: string;
  message: string;
  stop: boolean;
  failure: string | null;
}

export interface KnownPrompt {
  name: string;
  description: string;
  arguments: PromptArgument[];
}

export interface LastTurn {
  outcome: "finished" | "interrupted" | "failed";
  finished_at: string;
}

export interface LineShown {
  number: number;
  kind: "log" | "warning";
  text: string;
  at: string;
}

export interface ListedChat {
  id: string;
  title: string;
  summary: string;
  status: "idle" | "running" | "interrupting" | "requires_action" | "error";
  waiting: "capacity" | "held" | "children" | null;
  archived: boolean;
  model: string | null;
  effort: string | null;
  owner_id: string;
  parent_id: string | null;
  parent_call_id: string | null;
  root_id: string;
  run_id: string | null;
  origin: FromPerson | FromChat | FromRun | FromFlowStep | FromFork;
  workspace_id: string | null;
  labels: string[];
  pinned: boolean;
  version: number;
  history_version: number;
  queue_length: number;
  last_error: Failure | null;
  retry: Retry | null;
  action: Action | null;
  budget: Budget | null;
  usage: Usage;
  created_at: string;
  updated_at: string;
  last_turn: LastTurn | null;
  children: number;
  max_steps: number | null;
  provider_tools: ("web_search" | "code_execution")[] | null;
  mode: string;
  writes: "direct" | "review";
  debug: boolean;
  web: boolean;
  found: Found | null;
}

export interface ListedChatPage {
  items: ListedChat[];
  next_cursor: string | null;
}

export interface MakeBranch {
  name: string;
}

export interface Me {
  user: User;
  scopes: ("chats:read" | "chats:write" | "admin")[];
}

export interface MergedWorktree {
  paths: string[];
  conflicts: PathConflict[];
  checkpoint_id: string;
}

export interface Message {
  id: string;
  chat_id: string;
  turn: number;
  role: "user" | "assistant" | "tool" | "system";
  parts: (Text | Reasoning | ToolCall | ToolResult | File | Source | Notice)[];
  revision: number;
  visibility: "both" | "user" | "model";
  model: string | null;
  effort: string | null;
  usage: Usage | null;
  removed: boolean;
  interrupted: boolean;
  compaction: boolean;
  queue_item_id: string | null;
  created_by: string | null;
  created_at: string;
}

export interface MessageData {
  message: Message;
  replaces?: Replaces;
}

export interface MessagePage {
  items: Message[];
  next_cursor: string | null;
}

export interface ModeShown {
  name: string;
  allows: "everything" | "planning" | "reading" | "named";
  tools: string[];
  instructions: string;
}

export interface ModeShownPage {
  items: ModeShown[];
  next_cursor: string | null;
}

export interface ModelConfigShown {
  name: string;
  provider: string;
  model: string;
  context_limit: number | null;
  max_output: number;
  temperature: number | null;
  top_p: number | null;
  top_k: number | null;
  presence_penalty: number | null;
  frequency_penalty: number | null;
  efforts: string[];
  inputs: ("text" | "image" | "pdf")[];
  compaction_threshold: number | null;
  tools: boolean;
  chain: boolean;
  text_tool_calls: "auto" | "on" | "off";
  provider_tools: ("web_search" | "code_execution")[];
  provider_options?: Record<string, unknown>;
  enabled: boolean;
  origin: "file" | "environment" | "database" | "built_in";
}

export interface ModelConfigShownPage {
  items: ModelConfigShown[];
  next_cursor: string | null;
}

export interface ModelPrice {
  input_usd_micros: number;
  output_usd_micros: number;
}

export interface ModelShown {
  name: string;
  provider: string;
  model: string;
  context_limit: number | null;
  inputs: string[];
  efforts: string[];
  tools: boolean;
  can_run: ("web_search" | "code_execution")[];
  provider_tools: ("web_search" | "code_execution")[];
  price: ModelPrice | null;
  default: boolean;
}

export interface ModelShownPage {
  items: ModelShown[];
  next_cursor: string | null;
}

export interface NamedAgent {
  id: string;
  owner_id: string;
  name: string;
  description: string;
  instructions: string;
  model: string | null;
  effort: string | null;
  tools: string[] | null;
  published: boolean;
  created_at: string;
  updated_at: string;
  mode: string | null;
  writes: "direct" | "review" | null;
  workspace_id: string | null;
  path: string | null;
  digest: string | null;
}

export interface NamedAgentPage {
  items: NamedAgent[];
  next_cursor: string | null;
}

export interface NamedFile {
  path: string;
  hash: string;
  text: string;
  truncated: boolean;
}

export interface Notice {
  code: string;
  text: string;
  data?: unknown;
  type: "notice";
}

export interface OfferedModel {
  model: string;
  title: string | null;
  context_limit: number | null;
  max_output: number | null;
  inputs: ("text" | "image" | "pdf")[];
  efforts: string[];
  tools: boolean | null;
  price: ModelPrice | null;
  configured_as: string[];
}

export interface OfferedModelPage {
  items: OfferedModel[];
  next_cursor: string | null;
}

export interface PartData {
  history_version: number;
  attempt: number;
  n: number;
  first?: number;
  role: "assistant" | "system" | "tool" | "user";
  part: Text | Reasoning | ToolCall | ToolResult | File | Source | Notice | ToolCallDelta;
}

export interface PathConflict {
  path: string;
  reason: string;
}

export interface PlannedPhase {
  title: string;
  detail: string | null;
  model: string | null;
}

export interface PreviewReset {
}

export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors: FieldError[];
  data: unknown;
}

export interface PromptArgument {
  name: string;
  description: string;
  required: boolean;
}

export interface PromptText {
  text: string;
}

export interface ProposedMessage {
  message: string;
  source: "model" | "chat";
}

export interface ProviderShown {
  name: string;
  kind: string;
  base_url: string | null;
  api: string;
  api_version: string | null;
  has_key: boolean;
  enabled: boolean;
  origin: "file" | "environment" | "database" | "built_in";
}

export interface ProviderShownPage {
  items: ProviderShown[];
  next_cursor: string | null;
}

export interface PutModel {
  provider: string;
  model: string;
  context_limit?: number | null;
  max_output?: number;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: number | null;
  presence_penalty?: number | null;
  frequency_penalty?: number | null;
  efforts?: string[];
  inputs?: ("text" | "image" | "pdf")[];
  compaction_threshold?: number | null;
  tools?: boolean;
  chain?: boolean;
  text_tool_calls?: "auto" | "on" | "off";
  provider_tools?: ("web_search" | "code_execution")[];
  provider_options?: Record<string, unknown>;
  enabled?: boolean;
}

export interface PutProvider {
  kind: string;
  base_url?: string | null;
  api?: "chat" | "responses";
  api_version?: string | null;
  api_key?: string | null;
  enabled?: boolean;
}

export interface PutValue {
  value: string;
}

export interface QueueData {
  items: QueueItem[];
}

export interface QueueItem {
  id: string;
  content: (Text | Reasoning | ToolCall | ToolResult | File | Source | Notice)[];
  busy: "queue" | "interrupt" | "steer";
  position: number;
  held: boolean;
  hold_token: string | null;
  model: string | null;
  effort: string | null;
  created_by: string;
  created_at: string;
}

export interface QueueItemPage {
  items: QueueItem[];
  next_cursor: string | null;
}

export interface Reasoning {
  text: string;
  title: string | null;
  started_at: string | null;
  finished_at: string | null;
  type: "reasoning";
}

export interface Reloaded {
  needs_restart: string[];
}

export interface RemovedData {
  id: string;
}

export interface Replaces {
  history_version: number;
  attempt: number;
}

export interface RequestDiff {
  kept: number;
  kept_tokens: number;
  dropped: ChangedSegment[];
  added: ChangedSegment[];
}

export interface ResultIn {
  call_id: string;
  output: unknown;
  is_error?: boolean;
}

export interface Retry {
  kind: string;
  message: string;
  detail: string | null;
  provider: string | null;
  status_code: number | null;
  retryable: boolean;
  attempt: number;
  delay_ms: number;
  next_at: string;
  spent?: Usage;
}

export interface RetryFlowRun {
  steps?: unknown[];
}

export interface RewindChat {
  message_id: string;
  what?: "files" | "conversation" | "both";
  preview?: boolean;
}

export interface Rewound {
  files: FileAction[];
  removed_messages: number;
  checkpoint_id: string | null;
}

export interface RunData {
  id: string;
  name: string;
  language: "javascript" | "python";
  status: "cancelled" | "failed" | "pending" | "running" | "succeeded";
  error: RunError | null;
  budget: Budget;
  resumed_from: string | null;
  reuse: string | null;
  workspace_id: string | null;
  chat_id: string | null;
  model: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  args: unknown;
  result: unknown;
}

export interface RunError {
  message: string;
  line: number | null;
}

export interface RunListed {
  id: string;
  name: string;
  language: "javascript" | "python";
  status: "pending" | "running" | "succeeded" | "failed" | "cancelled";
  error: RunError | null;
  budget: Budget;
  resumed_from: string | null;
  reuse: string | null;
  workspace_id: string | null;
  chat_id: string | null;
  model: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface RunListedPage {
  items: RunListed[];
  next_cursor: string | null;
}

export interface RunPhase {
  title: string;
  detail: string | null;
  model: string | null;
  started_at: string | null;
}

export interface RunShown {
  id: string;
  name: string;
  language: "javascript" | "python";
  status: "pending" | "running" | "succeeded" | "failed" | "cancelled";
  error: RunError | null;
  budget: Budget;
  resumed_from: string | null;
  reuse: string | null;
  workspace_id: string | null;
  chat_id: string | null;
  model: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  args: unknown;
  result: unknown;
  script: string;
  phases: RunPhase[];
  calls: CallShown[];
  log: LineShown[];
  reused: number;
}

export interface SendMessage {
  content: string | (TextIn | FileIn)[];
  busy?: "queue" | "interrupt" | "steer";
  model?: string | null;
  effort?: string | null;
}

export interface Sent {
  message: Message | null;
  queued: QueueItem | null;
}

export interface ServerQuestion {
  id: string;
  chat_id: string;
  call_id: string;
  server: string;
  message: string;
  schema: unknown;
  url: string | null;
  expires_at: string;
}

export interface ServerQuestionPage {
  items: ServerQuestion[];
  next_cursor: string | null;
}

export interface ServerShown {
  id: string;
  name: string;
  origin: "config" | "all" | "own" | "workspace";
  workspace_id: string | null;
  transport: "stdio" | "http";
  command: string;
  args: string[];
  url: string;
  env: string[];
  headers: string[];
  enabled: boolean;
  approval: "auto" | "ask" | "allow" | "deny" | null;
  tools: string[];
  timeout_seconds: number;
  trusted: boolean;
  wall: boolean;
  network: "none" | "internet" | "host" | null;
  editable: boolean;
  state: "off" | "idle" | "starting" | "ready" | "failed" | "stopped" | "needs_sign_in";
  error: string | null;
  title: string;
  version: string;
  offered: ServerToolShown[];
  tool_count: number;
  waiting: number;
  prompts: KnownPrompt[];
  signed_in: boolean;
}

export interface ServerShownPage {
  items: ServerShown[];
  next_cursor: string | null;
}

export interface ServerToolShown {
  name: string;
  full_name: string;
  description: string;
  input_schema: unknown;
  read_only: boolean;
  state: "approved" | "changed" | "new" | "gone";
  before: unknown;
  error: string | null;
}

export interface SettingsShown {
  user: Record<string, unknown>;
  server: Record<string, unknown>;
  demo: boolean;
  file_max_bytes: number;
  workspace_roots: string[];
}

export interface SignInWith {
  token: string;
}

export interface Skill {
  name: string;
  description: string;
  folder: string;
  place: "workspace" | "user";
}

export interface SkillPage {
  items: Skill[];
  next_cursor: string | null;
}

export interface Source {
  url: string;
  title: string | null;
  type: "source";
}

export interface Span {
  id: string;
  parent_id: string | null;
  chat_id: string;
  message_id: string | null;
  turn: number;
  kind: "turn" | "step" | "model_call" | "tool_call" | "agent" | "compaction" | "check" | "title" | "summary" | "hook";
  name: string;
  input?: unknown;
  output?: unknown;
  truncated: boolean;
  asked_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  estimated: boolean;
  usage: Usage | null;
  cache: StepCache | null;
  diff: string | null;
  outcome: string | null;
  failure: Failure | null;
  approved_by: Approval | null;
}

export interface SpanPage {
  items: Span[];
  next_cursor: string | null;
}

export interface StartFlowRun {
  name?: string | null;
  flow?: string | null;
  args?: unknown;
  budget?: number | BudgetIn | null;
  model?: string | null;
  effort?: string | null;
  workspace_id?: string | null;
  resume_from?: string | null;
  fresh?: boolean;
  reuse?: boolean;
}

export interface StartRun {
  name?: string | null;
  script?: string | null;
  language?: "javascript" | "python" | null;
  args?: unknown;
  budget?: number | BudgetIn | null;
  model?: string | null;
  effort?: string | null;
  max_concurrency?: number | null;
  workspace_id?: string | null;
  resume_from?: string | null;
  chat_id?: string | null;
  fresh?: boolean;
  reuse?: boolean;
}

export interface StatusData {
  status: "error" | "idle" | "interrupting" | "requires_action" | "running";
  waiting: "capacity" | "children" | "held" | null;
}

export interface StepCache {
  read: number;
  write: number;
  fresh: number;
  hit_rate: number | null;
  reason: "first_request" | "model_changed" | "system_changed" | "tools_changed" | "instructions_changed" | "history_changed" | "expired" | "below_minimum" | "provider" | null;
  detail: string | null;
  message_id: string | null;
  lifetime_seconds: number | null;
  expires_at: string | null;
}

export interface StepUsage {
  id: string;
  number: number;
  kind: string;
  model: string | null;
  usage: Usage;
}

export interface StoredValue {
  name: string;
}

export interface StoredValuePage {
  items: StoredValue[];
  next_cursor: string | null;
}

export interface TemplateDetails {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  setup: string;
  check: string;
  services: TemplateProcess[];
  address: string | null;
  hash: string | null;
  state: "new" | "trusted" | "changed" | "refused";
  error: string | null;
  files: string[];
}

export interface TemplateProcess {
  name: string;
  command: string;
}

export interface TemplateShown {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  setup: string;
  check: string;
  services: TemplateProcess[];
  address: string | null;
  hash: string | null;
  state: "new" | "trusted" | "changed" | "refused";
  error: string | null;
}

export interface TemplateShownPage {
  items: TemplateShown[];
  next_cursor: string | null;
}

export interface Text {
  text: string;
  type: "text";
}

export interface TextIn {
  text: string;
  type: "text";
}

export interface Token {
  id: string;
  user_id: string;
  name: string;
  kind: "api" | "one_time" | "session" | "local";
  scopes: ("chats:read" | "chats:write" | "admin")[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  address: string | null;
}

export interface TokenCreated {
  token: Token;
  secret: string;
}

export interface TokenShown {
  id: string;
  user_id: string;
  name: string;
  kind: "api" | "one_time" | "session" | "local";
  scopes: ("chats:read" | "chats:write" | "admin")[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  address: string | null;
  current: boolean;
}

export interface TokenShownPage {
  items: TokenShown[];
  next_cursor: string | null;
}

export interface ToolCall {
  call_id: string;
  name: string;
  input: unknown;
  provider_executed: boolean;
  type: "tool_call";
}

export interface ToolCallDelta {
  type: "tool_call_delta";
  call_id: string;
  name: string;
  text: string;
}

export interface ToolResult {
  call_id: string;
  name: string;
  output: unknown;
  outcome: "succeeded" | "failed" | "denied" | "cancelled" | "expired" | "uncertain";
  diff: string | null;
  truncated: boolean;
  started_at: string | null;
  finished_at: string | null;
  type: "tool_result";
}

export interface ToolResults {
  results: unknown[];
}

export interface ToolShown {
  name: string;
  description: string;
  input_schema: unknown;
  effect: "read" | "idempotent" | "unsafe";
}

export interface ToolShownPage {
  items: ToolShown[];
  next_cursor: string | null;
}

export interface Trial {
  ok: boolean;
  message: string;
}

export interface TrustAgent {
  path: string;
  digest: string;
}

export interface TrustShown {
  kind: string;
  path: string;
  hash: string;
  state: "new" | "trusted" | "changed" | "refused";
  text: string;
  files: NamedFile[];
  error: string | null;
}

export interface TrustShownPage {
  items: TrustShown[];
  next_cursor: string | null;
}

export interface TurnUsage {
  turn: number;
  usage: Usage;
  steps: StepUsage[];
}

export interface Usage {
  input: number;
  output: number;
  reasoning: number;
  cache_read: number;
  cache_write: number;
  total: number;
  context_used: number | null;
  context_limit: number | null;
  cost_usd_micros: number;
  unpriced_steps: number;
  tokens_per_second: number | null;
  estimated: boolean;
}

export interface UsageLine {
  key: string;
  steps: number;
  usage: Usage;
}

export interface UsageReport {
  by: "day" | "model" | "chat" | "category";
  items: UsageLine[];
}

export interface UsePrompt {
  name: string;
  arguments?: Record<string, string>;
}

export interface User {
  id: string;
  name: string;
  role: "admin" | "member";
  suspended_at: string | null;
  created_at: string;
}

export interface UserCreated {
  user: User;
  sign_in_token: string;
}

export interface UserPage {
  items: User[];
  next_cursor: string | null;
}

export interface UserRule {
  id: string;
  user_id: string;
  tool: string;
  workspace_id: string | null;
  host: string | null;
  path: string | null;
  allowed: boolean;
  created_at: string;
}

export interface UserRulePage {
  items: UserRule[];
  next_cursor: string | null;
}

export interface WorkflowListed {
  name: string;
  description: string | null;
  when_to_use: string | null;
  phases: PlannedPhase[];
  args: Record<string, unknown> | null;
  budget: number | null;
  language: "javascript" | "python";
  source: "project" | "home" | "catalogue";
  path: string;
  hides_builtin: boolean;
  hidden_by: string | null;
  error: string | null;
  line: number | null;
  warnings: string[];
}

export interface WorkflowListedPage {
  items: WorkflowListed[];
  next_cursor: string | null;
}

export interface WorkflowShown {
  name: string;
  description: string | null;
  when_to_use: string | null;
  phases: PlannedPhase[];
  args: Record<string, unknown> | null;
  budget: number | null;
  language: "javascript" | "python";
  source: "project" | "home" | "catalogue";
  path: string;
  hides_builtin: boolean;
  hidden_by: string | null;
  error: string | null;
  line: number | null;
  warnings: string[];
  script: string | null;
}

export interface WorkspaceAgent {
  path: string;
  digest: string;
  name: string;
  description: string;
  instructions: string;
  model: string | null;
  tools: string[] | null;
  trusted: boolean;
  agent_id: string | null;
  error: string | null;
  hidden_by: string | null;
}

export interface WorkspaceAgentPage {
  items: WorkspaceAgent[];
  next_cursor: string | null;
}

export interface WorkspaceBuildShown {
  id: string;
  template: string;
  name: string | null;
  state: "building" | "ready" | "failed";
  path: string | null;
  workspace_id: string | null;
  chat_id: string | null;
  error: string | null;
  output: string | null;
}

export interface WorkspaceBuildShownPage {
  items: WorkspaceBuildShown[];
  next_cursor: string | null;
}

export interface WorkspaceDetails {
  id: string;
  name: string;
  path: string;
  kind: "directory" | "worktree";
  branch: string | null;
}

export interface WorkspaceDiff {
  diff: string;
  truncated: boolean;
  git: boolean;
}

export interface WorkspaceFile {
  path: string;
}

export interface WorkspaceFilePage {
  items: WorkspaceFile[];
  next_cursor: string | null;
}

export interface WorkspaceShown {
  id: string;
  name: string;
  path: string;
  kind: "directory" | "worktree";
}

export interface WorkspaceShownPage {
  items: WorkspaceShown[];
  next_cursor: string | null;
}

export interface WorktreeList {
  items: WorktreeShown[];
}

export interface WorktreeShown {
  id: string;
  path: string;
  branch: string;
  base: string;
  chat_id: string;
  state: "unchanged" | "changed" | "gone";
  kept: boolean;
}

export type ChatFeedEvent =
  | { event: "chat"; data: Chat }
  | { event: "message"; data: MessageData }
  | { event: "part"; data: PartData }
  | { event: "queue"; data: QueueData }
  | { event: "status"; data: StatusData }
  | { event: "retry"; data: Retry }
  | { event: "failed"; data: Failure }
  | { event: "action_required"; data: Action }
  | { event: "preview_reset"; data: PreviewReset }
  | { event: "history_reset"; data: HistoryReset }
  | { event: "span"; data: Span }
  | { event: "usage"; data: Usage }
  | { event: "collision"; data: Collision }
  | { event: "changes"; data: ChangesData }
  | { event: "debug"; data: DebugData }
  | { event: "caught_up"; data: CaughtUp }
  | { event: "closing"; data: Closing };

export type ListFeedEvent =
  | { event: "created"; data: Chat }
  | { event: "changed"; data: Chat }
  | { event: "removed"; data: RemovedData }
  | { event: "needs_you"; data: Chat }
  | { event: "caught_up"; data: CaughtUp }
  | { event: "closing"; data: Closing };

export type RunFeedEvent =
  | { event: "run"; data: RunData }
  | { event: "phase"; data: RunPhase }
  | { event: "log"; data: LineShown }
  | { event: "call"; data: CallShown }
  | { event: "budget"; data: Budget }
  | { event: "caught_up"; data: CaughtUp }
  | { event: "closing"; data: Closing };

export type FlowRunFeedEvent =
  | { event: "run"; data: FlowRunData }
  | { event: "step"; data: FlowStepShown }
  | { event: "log"; data: FlowLineShown }
  | { event: "caught_up"; data: CaughtUp }
  | { event: "closing"; data: Closing };

export interface Routes {
  "GET /chats": { query: { limit?: number; cursor?: string | null; archived?: boolean | null; parent_id?: string | null; run_id?: string | null; label?: string | null; status?: "idle" | "running" | "interrupting" | "requires_action" | "error" | null; pinned?: boolean | null; q?: string | null }; answer: ListedChatPage };
  "POST /chats": { body: CreateChat; answer: Chat };
  "GET /chats/{chat_id}": { answer: Chat };
  "PATCH /chats/{chat_id}": { body: ChangeChat; answer: Chat };
  "DELETE /chats/{chat_id}": { answer: undefined };
  "POST /chats/{chat_id}/fork": { body: ForkChat; answer: Chat };
  "POST /chats/{chat_id}/interrupt": { answer: Chat };
  "POST /chats/{chat_id}/compact": { answer: Chat };
  "POST /chats/{chat_id}/retry": { answer: Chat };
  "POST /chats/{chat_id}/reconcile": { answer: Chat };
  "GET /chats/{chat_id}/file": { query: { path?: string }; answer: FileView };
  "GET /chats/{chat_id}/messages": { query: { limit?: number; cursor?: string | null; after?: string | null; before?: string | null; removed?: boolean; visibility?: "both" | "all" }; answer: MessagePage };
  "POST /chats/{chat_id}/messages": { body: SendMessage; answer: Sent };
  "GET /chats/{chat_id}/messages/{message_id}": { answer: Message };
  "PATCH /chats/{chat_id}/messages/{message_id}": { body: EditMessage; answer: Sent };
  "GET /chats/{chat_id}/queue": { query: { limit?: number; cursor?: string | null }; answer: QueueItemPage };
  "PATCH /chats/{chat_id}/queue/{item_id}": { body: ChangeQueued; answer: QueueItem };
  "DELETE /chats/{chat_id}/queue/{item_id}": { answer: undefined };
  "POST /chats/{chat_id}/queue/{item_id}/promote": { answer: Chat };
  "POST /chats/{chat_id}/tool-results": { body: ToolResults; answer: Chat };
  "POST /chats/{chat_id}/calls/{call_id}/decision": { body: Decision; answer: Chat };
  "GET /chats/{chat_id}/calls/{call_id}": { answer: CallOutput };
  "GET /chats/{chat_id}/changes": { query: { since?: string; limit?: number; cursor?: string | null }; answer: Changes };
  "GET /chats/{chat_id}/changes/{change_id}": { query: { since?: string }; answer: ChangeShown };
  "POST /chats/{chat_id}/changes/apply": { body: ChangeDecision; answer: DecidedChanges };
  "POST /chats/{chat_id}/changes/reject": { body: ChangeDecision; answer: DecidedChanges };
  "POST /chats/{chat_id}/changes/undo": { body: ChangeDecision; answer: DecidedChanges };
  "POST /chats/{chat_id}/changes/rewind": { body: RewindChat; answer: Rewound };
  "POST /chats/{chat_id}/changes/commit-message": { answer: ProposedMessage };
  "GET /chats/{chat_id}/approvals": { query: { limit?: number; cursor?: string | null }; answer: ApprovalRulePage };
  "DELETE /chats/{chat_id}/approvals/{rule_id}": { answer: undefined };
  "GET /approvals": { query: { limit?: number; cursor?: string | null }; answer: UserRulePage };
  "DELETE /approvals/{rule_id}": { answer: undefined };
  "GET /chats/{chat_id}/feed": { query: { cursor?: string | null; tail?: number | null }; answer: undefined };
  "GET /feed": { query: { cursor?: string | null }; answer: undefined };
  "GET /workflow-runs/{run_id}/feed": { query: { cursor?: string | null }; answer: undefined };
  "GET /flow-runs/{flow_run_id}/feed": { query: { cursor?: string | null }; answer: undefined };
  "GET /chats/{chat_id}/trace": { query: { limit?: number; cursor?: string | null; turn?: number | null; kind?: "turn" | "step" | "model_call" | "tool_call" | "agent" | "compaction" | "check" | "title" | "summary" | "hook" | null }; answer: SpanPage };
  "GET /chats/{chat_id}/trace/{span_id}": { answer: Span };
  "GET /chats/{chat_id}/context": { answer: ChatContext };
  "GET /chats/{chat_id}/context/diff": { query: { after?: string | null; before?: string | null }; answer: RequestDiff };
  "POST /chats/{chat_id}/context/instructions": { answer: Chat };
  "GET /chats/{chat_id}/debug/runs": { query: { limit?: number; cursor?: string | null }; answer: DebugRunPage };
  "GET /chats/{chat_id}/debug/runs/{debug_run_id}": { query: { first_step?: number; limit?: number }; answer: DebugRunDetail };
  "GET /chats/{chat_id}/usage": { answer: ChatUsage };
  "GET /usage": { query: { by?: "day" | "model" | "chat" | "category"; days?: number }; answer: UsageReport };
  "GET /chats/{chat_id}/export": { query: { format?: "json" | "markdown" | "html" }; answer: unknown };
  "POST /chats/import": { body: ChatExport; answer: Chat };
  "GET /models": { query: { limit?: number; cursor?: string | null }; answer: ModelShownPage };
  "PUT /models/default": { body: ChooseDefault; answer: undefined };
  "GET /tools": { query: { limit?: number; cursor?: string | null }; answer: ToolShownPage };
  "GET /modes": { answer: ModeShownPage };
  "GET /workspaces": { query: { limit?: number; cursor?: string | null }; answer: WorkspaceShownPage };
  "POST /workspaces": { body: CreateWorkspace; answer: WorkspaceShown };
  "GET /workspaces/at": { query: { path?: string }; answer: DirectoryShown };
  "GET /workspaces/{workspace_id}": { answer: WorkspaceDetails };
  "DELETE /workspaces/{workspace_id}": { answer: undefined };
  "GET /workspaces/{workspace_id}/files": { query: { q?: string; limit?: number }; answer: WorkspaceFilePage };
  "GET /workspaces/{workspace_id}/diff": { answer: WorkspaceDiff };
  "GET /workspaces/{workspace_id}/code-map": { query: { path?: string; tokens?: number }; answer: CodeMapShown };
  "POST /workspaces/{workspace_id}/git/commit": { body: CommitFiles; answer: Committed };
  "POST /workspaces/{workspace_id}/git/branch": { body: MakeBranch; answer: Committed };
  "GET /workspaces/{workspace_id}/git/patch": { query: { subject?: string }; answer: string };
  "GET /workspaces/{workspace_id}/worktrees": { answer: WorktreeList };
  "POST /workspaces/{workspace_id}/worktrees/{worktree_id}/merge": { answer: MergedWorktree };
  "POST /workspaces/{workspace_id}/worktrees/{worktree_id}/keep": { answer: WorktreeList };
  "POST /workspaces/{workspace_id}/worktrees/{worktree_id}/remove": { answer: WorktreeList };
  "GET /workspaces/{workspace_id}/agents": { answer: WorkspaceAgentPage };
  "POST /workspaces/{workspace_id}/agents/trust": { body: TrustAgent; answer: WorkspaceAgent };
  "GET /workspaces/{workspace_id}/trust": { answer: TrustShownPage };
  "POST /workspaces/{workspace_id}/trust": { body: DecideTrust; answer: TrustShownPage };
  "GET /templates": { answer: TemplateShownPage };
  "GET /templates/one": { query: { template?: string }; answer: TemplateDetails };
  "POST /templates/trust": { body: DecideTemplate; answer: undefined };
  "GET /workspace-builds": { query: { chat_id?: string | null }; answer: WorkspaceBuildShownPage };
  "POST /workspace-builds": { body: BuildWorkspace; answer: WorkspaceBuildShown };
  "GET /workspace-builds/{build_id}": { answer: WorkspaceBuildShown };
  "GET /mcp-servers": { query: { workspace_id?: string | null }; answer: ServerShownPage };
  "POST /mcp-servers": { body: CreateServer; answer: ServerShown };
  "GET /mcp-servers/{server_id}": { query: { workspace_id?: string | null }; answer: ServerShown };
  "PATCH /mcp-servers/{server_id}": { body: ChangeServer; answer: ServerShown };
  "DELETE /mcp-servers/{server_id}": { answer: undefined };
  "POST /mcp-servers/{server_id}/test": { query: { workspace_id?: string | null }; answer: ServerShown };
  "POST /mcp-servers/{server_id}/approve": { query: { workspace_id?: string | null }; body: ApproveTools; answer: ServerShown };
  "POST /mcp-servers/{server_id}/connect": { query: { workspace_id?: string | null }; body: ConnectServer; answer: Connecting };
  "POST /mcp-servers/sign-in": { body: ComeBack; answer: undefined };
  "POST /mcp-servers/{server_id}/prompts": { query: { workspace_id?: string | null }; body: UsePrompt; answer: PromptText };
  "GET /mcp-values": { answer: StoredValuePage };
  "PUT /mcp-values/{name}": { body: PutValue; answer: undefined };
  "DELETE /mcp-values/{name}": { answer: undefined };
  "GET /chats/{chat_id}/mcp-questions": { answer: ServerQuestionPage };
  "POST /chats/{chat_id}/mcp-questions/{question_id}": { body: AnswerQuestion; answer: undefined };
  "GET /hooks": { query: { workspace_id?: string | null }; answer: HookShownPage };
  "GET /hooks/runs": { query: { hook_id?: string; limit?: number; cursor?: string | null }; answer: HookRunShownPage };
  "POST /hooks/{hook_id}/test": { query: { workspace_id?: string | null }; answer: HookTrial };
  "GET /skills": { query: { workspace_id?: string | null; limit?: number; cursor?: string | null }; answer: SkillPage };
  "POST /files": { answer: FileShown };
  "GET /files/{file_id}": { answer: undefined };
  "GET /files/{file_id}/thumbnail": { answer: undefined };
  "GET /grants": { query: { limit?: number; cursor?: string | null }; answer: GrantPage };
  "DELETE /grants/{grant_id}": { answer: undefined };
  "GET /agents": { query: { limit?: number; cursor?: string | null }; answer: NamedAgentPage };
  "POST /agents": { body: CreateAgent; answer: NamedAgent };
  "GET /agents/{agent_id}": { answer: NamedAgent };
  "PATCH /agents/{agent_id}": { body: ChangeAgent; answer: NamedAgent };
  "DELETE /agents/{agent_id}": { answer: undefined };
  "GET /workflows": { query: { workspace_id?: string | null; limit?: number; cursor?: string | null }; answer: WorkflowListedPage };
  "GET /workflows/{name}": { query: { workspace_id?: string | null }; answer: WorkflowShown };
  "GET /workflow-runs": { query: { limit?: number; cursor?: string | null; name?: string | null; status?: "pending" | "running" | "succeeded" | "failed" | "cancelled" | null }; answer: RunListedPage };
  "POST /workflow-runs": { body: StartRun; answer: RunShown };
  "GET /workflow-runs/{run_id}": { answer: RunShown };
  "POST /workflow-runs/{run_id}/cancel": { answer: RunShown };
  "GET /flows": { query: { workspace_id?: string | null; limit?: number; cursor?: string | null }; answer: FlowListedPage };
  "GET /flows/{name}": { query: { workspace_id?: string | null }; answer: FlowShown };
  "GET /flow-runs": { query: { limit?: number; cursor?: string | null; name?: string | null; status?: "pending" | "running" | "waiting" | "succeeded" | "failed" | "timed_out" | "cancelled" | null }; answer: FlowRunListedPage };
  "POST /flow-runs": { body: StartFlowRun; answer: FlowRunRead };
  "GET /flow-runs/{flow_run_id}": { answer: FlowRunRead };
  "GET /flow-runs/{flow_run_id}/output": { answer: undefined };
  "POST /flow-runs/{flow_run_id}/steps/{step_id}/decision": { body: DecideStep; answer: FlowRunRead };
  "POST /flow-runs/{flow_run_id}/retry": { body: RetryFlowRun; answer: FlowRunRead };
  "POST /flow-runs/{flow_run_id}/steps/{step_id}/retry": { answer: FlowRunRead };
  "POST /flow-runs/{flow_run_id}/cancel": { answer: FlowRunRead };
  "GET /providers": { query: { limit?: number; cursor?: string | null }; answer: ProviderShownPage };
  "PUT /providers/{name}": { body: PutProvider; answer: ProviderShown };
  "DELETE /providers/{name}": { answer: undefined };
  "GET /providers/{name}/models": { query: { limit?: number; cursor?: string | null }; answer: OfferedModelPage };
  "GET /model-configs": { query: { limit?: number; cursor?: string | null }; answer: ModelConfigShownPage };
  "PUT /model-configs/{name}": { body: PutModel; answer: ModelConfigShown };
  "DELETE /model-configs/{name}": { answer: undefined };
  "POST /model-configs/{name}/test": { answer: Trial };
  "GET /session": { answer: Me };
  "POST /session": { body: SignInWith; answer: Me };
  "DELETE /session": { answer: undefined };
  "GET /users": { query: { limit?: number; cursor?: string | null }; answer: UserPage };
  "POST /users": { body: CreateUser; answer: UserCreated };
  "GET /users/{user_id}": { answer: User };
  "PATCH /users/{user_id}": { body: ChangeUser; answer: User };
  "POST /users/{user_id}/sign-in": { answer: UserCreated };
  "GET /tokens": { query: { limit?: number; cursor?: string | null }; answer: TokenShownPage };
  "POST /tokens": { body: CreateToken; answer: TokenCreated };
  "DELETE /tokens/{token_id}": { answer: undefined };
  "GET /audit": { query: { limit?: number; cursor?: string | null }; answer: AuditEntryPage };
  "GET /settings": { answer: SettingsShown };
  "PATCH /settings": { body: Record<string, unknown>; answer: SettingsShown };
  "PATCH /settings/server": { body: Record<string, unknown>; answer: SettingsShown };
  "POST /settings/reload": { answer: Reloaded };
  "GET /metrics": { answer: undefined };
}
