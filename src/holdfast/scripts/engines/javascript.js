// The words of a workflow script in JavaScript. Evaluates to a function that takes the configuration and gives the
// bridge to the process around: run the script, settle a call, take the next thing it said.
(function (configuration) {
  'use strict';
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { isFinite } = Number;
  const { apply, construct, ownKeys } = Reflect;
  const { max } = Math;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, freeze, is } = Object;
  const config = parse(configuration);
  const MAX_TOLD = 5;

  const said = [];
  const calls = new Map();
  const sites = new WeakMap();
  const budgetErrors = new WeakSet();
  const packErrors = new WeakSet();
  const stopped = new Set();
  let next = 0;
  let taken = 0;
  let groups = 0;
  let timers = 0;
  let lines = 0;
  let branch = '';
  let spent = config.spent;
  // Where the script is in its loops: what it computes for too long has no other trace.
  let loopLine = () => null;

  // ---- what is said to the process around

  const say = (message) => {
    said[said.length] = stringify(message);
  };

  const take = () => {
    if (taken === said.length) {
      said.length = taken = 0;
      return null;
    }
    const text = said[taken];
    said[taken++] = undefined;
    return text;
  };

  const lineOf = (stack) => {
    if (typeof stack !== 'string') return null;
    for (const frame of stack.split('\n')) {
      const at = frame.lastIndexOf('<input>:');
      const line = at < 0 ? 0 : parseInt(frame.slice(at + 8), 10);
      if (line > config.lines) return line - config.lines;
    }
    return null;
  };

  const warn = (text) => say({ type: 'warning', text });

  // What is no error has no stack: its line is that of the last statement that threw such a thing.
  let thrown = null;
  const throwing = (value) => {
    if (!(value instanceof Error)) thrown = { value, line: lineOf(new Error().stack) };
    return value;
  };
  // An error that is made where it is thrown has that line, not the one of its class.
  const throwingNew = (value) => {
    if (value instanceof Error) sites.set(value, lineOf(new Error().stack));
    return throwing(value);
  };

  // The engine says "not a function" and where; what stands there is the name.
  const nameAt = (stack) => {
    const frame = typeof stack === 'string' ? stack.split('\n')[0] : '';
    const [line, column] = frame.slice(frame.lastIndexOf('<input>:') + 8).split(':').map((part) => parseInt(part, 10));
    const text = (source ??= config.source.split('\n'))[line - config.lines - 1];
    if (!frame.includes('<input>:') || text === undefined || !(column > 0)) return null;
    const name = /^[\w$]+/.exec(text.slice(column - 1))?.[0];
    const before = /(?:[\w$]+(?:\?\.|\.))*$/.exec(text.slice(0, column - 1))?.[0] ?? '';
    return name ? before + name : null;
  };
  let source = null;
  const messageOf = (error) => {
    if (error.message !== 'not a function') return error.message;
    const name = nameAt(error.stack);
    return name === null || name === 'new' ? 'something that is called is not a function' : `${name} is not a function`;
  };

  const describe = (error) => {
    // With no memory left there is none for an error either: the engine throws null by itself then.
    if (error === null && thrown?.value !== null) return 'InternalError: out of memory';
    try {
      if (error instanceof Error) return error.message ? `${error.name}: ${messageOf(error)}` : String(error.name);
      if (typeof error === 'object' && error !== null) return `an object was thrown: ${stringify(error)}`;
      return `${String(error)} was thrown`;
    } catch {
      return 'something that cannot be shown was thrown';
    }
  };

  const show = (value) => {
    if (typeof value !== 'object') return String(value);
    if (value instanceof Error) return describe(value);
    try {
      return String(stringify(value));
    } catch {
      return Object.prototype.toString.call(value);
    }
  };

  // ---- values as JSON: a copy of plain data. What JSON has no word for becomes what JSON.stringify makes of it, and one
  // warning says so; only what is too large is refused.

  const pack = (value, what, tellUndefined) => {
    let left = config.value_bytes;
    const above = [];
    const changed = [];
    let changes = 0;
    const change = (path, why) => {
      if (++changes <= MAX_TOLD) changed[changed.length] = `${path} ${why}`;
    };
    const refuse = (path, why) => {
      const error = new TypeError(`${what} must be JSON: ${path} ${why}`);
      packErrors.add(error);
      throw error;
    };
    const copy = (value, path, key) => {
      left -= typeof value === 'string' ? value.length : 8;
      if (left < 0) refuse(path, `makes it larger than ${config.value_bytes} bytes`);
      if (typeof value === 'object' && value !== null && typeof value.toJSON === 'function') {
        if (value instanceof Date) change(path, 'is a Date: its text');
        value = value.toJSON(key);
      }
      switch (typeof value) {
        case 'string':
        case 'boolean':
          return value;
        case 'number':
          if (isFinite(value)) return value;
          change(path, `is ${value}: null`);
          return null;
        case 'bigint':
          change(path, 'is a BigInt: text');
          return String(value);
        case 'object':
          return value === null ? null : inside(value, path);
        case 'undefined':
          if (tellUndefined && path !== what) change(path, 'is undefined: dropped');
          return undefined;
        default:
          change(path, `is a ${typeof value}: dropped`);
          return undefined;
      }
    };
    const inside = (value, path) => {
      if (above.includes(value)) {
        change(path, 'contains itself: null');
        return null;
      }
      if (above.length >= config.value_depth) {
        change(path, `is nested deeper than ${config.value_depth}: null`);
        return null;
      }
      above[above.length] = value;
      let made;
      if (isArray(value)) {
        made = setPrototypeOf([], null);
        for (let i = 0; i < value.length; i++) made[i] = copy(value[i], `${path}[${i}]`, String(i)) ?? null;
      } else {
        if (typeof value.then === 'function') change(path, 'is a promise that nobody awaited: {}');
        const kind = apply(Object.prototype.toString, value, []).slice(8, -1);
        if (kind === 'Map' || kind === 'Set') change(path, `is a ${kind}: {}`);
        made = { __proto__: null };
        for (const key of ownKeys(value)) {
          if (typeof key !== 'string' || !getOwnPropertyDescriptor(value, key)?.enumerable) continue;
          left -= key.length;
          const item = copy(value[key], `${path}.${key}`, key);
          if (item !== undefined) made[key] = item;
        }
      }
      above.length--;
      return made;
    };
    const copied = copy(value, what, '');
    if (changes > 0) {
      const more = changes > MAX_TOLD ? `; and ${changes - MAX_TOLD} more` : '';
      warn(`Not everything is JSON: ${changed.join('; ')}${more}.`);
    }
    return copied ?? null;
  };

  // ---- calls

  // Whatever is wrong with a call rejects its promise.
  const call = (type, describeCall) => new Promise((resolve, reject) => {
    const { stack } = new Error();
    let what;
    try {
      what = describeCall();
    } catch (error) {
      if (error instanceof Error) sites.set(error, lineOf(stack));
      throw error;
    }
    const id = ++next;
    say({ type, id, branch, ...what });
    calls.set(id, { resolve, reject, stack });
  });

  const settle = ({ id, value, error, spent: now }) => {
    const { resolve, reject, stack } = calls.get(id);
    calls.delete(id);
    spent = now;
    if (error === null) return resolve(value);
    const thrown = error.kind === 'refused' ? new TypeError(error.message) : new Error(error.message);
    if (error.kind === 'budget') {
      thrown.name = 'BudgetError';
      budgetErrors.add(thrown);
    } else if (error.kind !== 'refused') {
      thrown.name = 'AgentError';
    }
    sites.set(thrown, lineOf(stack));
    reject(thrown);
  };

  const textOf = (value) => {
    if (typeof value === 'string') return value;
    if (value === undefined || value === null) return null;
    const plain = typeof value === 'object' && !isArray(value) && value.toString === Object.prototype.toString;
    return plain ? String(stringify(value)) : String(value);
  };

  function agent(prompt, options) {
    return call('agent', () => {
      let given = options ?? {};
      if (typeof given !== 'object' || isArray(given)) {
        warn(`The options of agent() must be an object: ${show(given).slice(0, 100)} is ignored.`);
        given = {};
      }
      return { prompt: textOf(prompt), options: pack(given, 'options', false) };
    });
  }

  function workflow(target, args) {
    return call('workflow', () => ({
      target: pack(target, 'the name', false),
      ...(args === undefined ? {} : { args: pack(args, 'args', true) }),
    }));
  }

  const pause = (milliseconds) => call('pause', () => ({ seconds: milliseconds > 0 ? milliseconds / 1000 : 0 }));

  const timer = (word, callback, milliseconds, rest, again) => {
    if (typeof callback !== 'function') throw new TypeError(`${word}() needs a function`);
    const id = ++timers;
    const wait = () => {
      pause(Number(milliseconds))
        .then(() => {
          if (stopped.has(id)) return;
          if (again) wait();
          callback(...rest);
        })
        .catch((error) => log(`${word}: ${describe(error)}`));
    };
    wait();
    return id;
  };

  function setTimeout(callback, milliseconds, ...rest) {
    return timer('setTimeout', callback, milliseconds, rest, false);
  }

  function setInterval(callback, milliseconds, ...rest) {
    return timer('setInterval', callback, milliseconds, rest, true);
  }

  function clearTimeout(id) {
    stopped.add(id);
  }

  // ---- many at once

  const check = (word, list, kind) => {
    if (!isArray(list)) throw new TypeError(`${word}() takes a list of ${kind}`);
    if (list.length > config.parallel) {
      throw new RangeError(`${word}() takes at most ${config.parallel} ${kind}, not ${list.length}`);
    }
  };

  const checkFunction = (word, what, value) => {
    if (typeof value === 'function') return;
    const promise = typeof value?.then === 'function';
    throw new TypeError(
      `${word}() takes functions, and ${what} is ${promise ? 'a promise that already runs' : `a ${typeof value}`}: ` +
        'write () => agent(...)',
    );
  };

  // A call knows which branch it belongs to when it is made before the first await of its function.
  const within = (place, body) => {
    const outer = branch;
    branch = outer ? `${outer}/${place}` : place;
    try {
      return body();
    } finally {
      branch = outer;
    }
  };

  const guard = async (word, index, over, body) => {
    try {
      return await body();
    } catch (error) {
      if (budgetErrors.has(error)) over[over.length] = error;
      else log(`${word}: item ${index + 1} failed: ${describe(error)}`);
      return null;
    }
  };

  const all = async (started, over) => {
    const results = [];
    for (let i = 0; i < started.length; i++) results[i] = await started[i];
    if (over.length) throw over[0];
    return results;
  };

  async function parallel(functions) {
    check('parallel', functions, 'functions');
    for (let i = 0; i < functions.length; i++) checkFunction('parallel', `item ${i + 1}`, functions[i]);
    const group = ++groups;
    const over = [];
    const started = [];
    for (let i = 0; i < functions.length; i++) {
      started[i] = guard('parallel', i, over, () => within(`parallel#${group}[${i}]`, functions[i]));
    }
    return all(started, over);
  }

  async function pipeline(items, ...stages) {
    check('pipeline', items, 'items');
    for (let i = 0; i < stages.length; i++) checkFunction('pipeline', `stage ${i + 1}`, stages[i]);
    const group = ++groups;
    const outer = branch;
    const over = [];
    const through = async (item, index) => {
      let value = item;
      for (let stage = 0; stage < stages.length; stage++) {
        const place = `pipeline#${group}[${index}].${stage}`;
        const now = branch;
        branch = outer;
        let result;
        try {
          result = within(place, () => stages[stage](value, item, index));
        } finally {
          branch = now;
        }
        value = await result;
        if (value === null) return null;
      }
      return value;
    };
    const started = [];
    for (let i = 0; i < items.length; i++) started[i] = guard('pipeline', i, over, () => through(items[i], i));
    return all(started, over);
  }

  // ---- progress

  function log(...values) {
    if (++lines > config.log_lines + 1) return;
    let text = values.map(show).join(' ');
    if (text.length > 4 * config.log_characters) text = text.slice(0, 4 * config.log_characters);
    say({ type: 'log', text });
  }

  function phase(title) {
    const text = textOf(title);
    if (text === null || !text.trim()) throw new TypeError('phase() needs a title: text that is not empty');
    say({ type: 'phase', title: text });
  }

  const consoleOf = () => {
    const counts = new Map();
    let depth = 0;
    const print = (...values) => log(...(depth ? ['  '.repeat(depth - 1) + ' '] : []), ...values);
    const group = (...values) => {
      if (values.length) print(...values);
      depth++;
    };
    const count = (label = 'default') => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      print(`${label}: ${counts.get(label)}`);
    };
    const names = ['log', 'info', 'debug', 'warn', 'error', 'trace', 'dir', 'dirxml', 'table'];
    return {
      ...Object.fromEntries(names.map((name) => [name, print])),
      group,
      groupCollapsed: group,
      groupEnd: () => {
        if (depth) depth--;
      },
      count,
      countReset: (label = 'default') => void counts.delete(label),
      assert: (holds, ...values) => {
        if (!holds) print('Assertion failed:', ...values);
      },
      // There is no clock, so these say nothing.
      time: () => {},
      timeLog: () => {},
      timeEnd: () => {},
    };
  };

  const budget = freeze({
    total: config.total,
    spent: () => spent,
    remaining: () => (config.total === null ? Infinity : max(0, config.total - spent)),
  });

  // ---- what would make a second run take another way, or lead out

  const refused = (text) => function () {
    throw new Error(text);
  };
  const again = 'a run that is continued must take the same way';

  const closeConstructors = () => {
    const noCode = refused('code cannot be made from text: a script runs only what is written in it');
    const samples = [function () {}, async function () {}, function* () {}, async function* () {}];
    for (const sample of samples) {
      defineProperty(getPrototypeOf(sample), 'constructor', { value: noCode, writable: false, configurable: false });
    }
    noCode.prototype = Function.prototype;
    globalThis.Function = noCode;
    globalThis.eval = noCode;
  };

  const closeClocks = () => {
    const noClock = refused(`there is no clock: ${again}. Pass the time as an argument`);
    const noChance = (word) => refused(`${word}() is not available: ${again}. Pass a seed as an argument`);
    Math.random = noChance('Math.random');
    globalThis.crypto = freeze({
      getRandomValues: noChance('crypto.getRandomValues'),
      randomUUID: noChance('crypto.randomUUID'),
    });
    globalThis.performance = freeze({ now: noClock, timeOrigin: 0 });
    const RealDate = Date;
    const KnownDate = function Date(...parts) {
      if (new.target === undefined || parts.length === 0) noClock();
      return construct(RealDate, parts, new.target === KnownDate ? RealDate : new.target);
    };
    KnownDate.prototype = RealDate.prototype;
    defineProperty(RealDate.prototype, 'constructor', { value: KnownDate, writable: true, configurable: true });
    KnownDate.parse = RealDate.parse;
    KnownDate.UTC = RealDate.UTC;
    KnownDate.now = noClock;
    globalThis.Date = KnownDate;
    // What depends on when memory is collected, or on another thread.
    for (const name of ['WeakRef', 'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics']) delete globalThis[name];
  };

  closeConstructors();
  closeClocks();
  const words = {
    agent, parallel, pipeline, phase, log, budget, workflow, setTimeout, clearTimeout, setInterval,
    clearInterval: clearTimeout,
    args: config.args,
    console: consoleOf(),
    __holdfast_thrown: throwing,
    __holdfast_thrown_new: throwingNew,
    __holdfast_loops: (line) => {
      loopLine = line;
    },
  };
  for (const word of ownKeys(words)) {
    defineProperty(globalThis, word, { value: words[word], writable: true, configurable: true, enumerable: false });
  }

  // ---- the bridge

  const fail = (error) => {
    let line = null;
    try {
      line = sites.get(error) ?? lineOf(error?.stack) ?? (is(thrown?.value, error) ? thrown?.line : null) ?? null;
    } catch {}
    say({ type: 'failed', kind: budgetErrors.has(error) ? 'budget' : 'thrown', message: describe(error), line });
  };

  const finish = (value) => {
    try {
      say({ type: 'done', value: pack(value, 'the result', true) });
    } catch (error) {
      const message = packErrors.has(error) ? error.message : `the result cannot be read: ${describe(error)}`;
      say({ type: 'failed', kind: 'result', message, line: null });
    }
  };

  return (what, text) => {
    if (what === 'loop') return loopLine();
    if (what === 'take') return take();
    if (what === 'settle') return settle(parse(text));
    text().then(finish, fail);
  };
})
