// What scripts expect around the language and the engine does not have: texts and numbers as in en-US, addresses, bytes
// of text, copies, signals. Pure functions of their arguments: no clock, no chance, nothing of the machine.
(function () {
  'use strict';
  const define = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  const refuse = (what, use) => {
    throw new Error(`${what} is not available here: ${use}`);
  };

  // ---- en-US

  const MARKS = /[\u0300-\u036f]/g;
  const rank = (c) => (/\s/.test(c) ? 0 : /[\p{P}]/u.test(c) ? 1 : /[\p{S}]/u.test(c) ? 2 : /\p{N}/u.test(c) ? 3 : 4);
  const PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
  const place = (c) => {
    const at = PUNCTUATION.indexOf(c);
    return at >= 0 ? at : 1000 + c.codePointAt(0);
  };
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  const primary = (left, right, numeric) => {
    const a = [...left.normalize('NFD').replace(MARKS, '').toLowerCase()];
    const b = [...right.normalize('NFD').replace(MARKS, '').toLowerCase()];
    let i = 0;
    let j = 0;
    while (i < a.length && j < b.length) {
      if (numeric && /\d/.test(a[i]) && /\d/.test(b[j])) {
        const digits = (list, from) => /^\d+/.exec(list.slice(from).join(''))[0];
        const [x, y] = [digits(a, i), digits(b, j)];
        const [m, n] = [x.replace(/^0+(?=\d)/, ''), y.replace(/^0+(?=\d)/, '')];
        const found = order(m.length, n.length) || order(m, n);
        if (found) return found;
        i += x.length;
        j += y.length;
        continue;
      }
      const found = order(rank(a[i]), rank(b[j])) || order(place(a[i]), place(b[j]));
      if (found) return found;
      i++;
      j++;
    }
    return order(a.length - i, b.length - j);
  };

  const compare = (a, b, options = {}) => {
    const [left, right] = [String(a), String(b)];
    const sensitivity = options.sensitivity ?? 'variant';
    const found = primary(left, right, options.numeric === true);
    if (found || sensitivity === 'base') return found;
    if (sensitivity !== 'case') {
      const marks = (text) => (text.normalize('NFD').match(MARKS) ?? []).join('');
      const accents = order(marks(left), marks(right));
      if (accents || sensitivity === 'accent') return accents;
    }
    const upperFirst = options.caseFirst === 'upper' ? -1 : 1;
    for (let i = 0; i < Math.min(left.length, right.length); i++) {
      if (left[i] !== right[i]) {
        return left[i] === left[i].toLowerCase() && right[i] !== right[i].toLowerCase() ? -upperFirst : upperFirst;
      }
    }
    return order(left.length, right.length);
  };

  const english = (locales) => {
    const wanted = Array.isArray(locales) ? locales[0] : locales;
    if (wanted !== undefined && !/^en\b/i.test(String(wanted))) refuse(`the locale ${wanted}`, 'there is en-US alone');
  };

  const CURRENCIES = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', CAD: 'CA$', AUD: 'A$', CHF: 'CHF ' };
  const rounded = (value, digits) => {
    // As decimal digits, half away from zero: toFixed alone rounds the binary number.
    const [mantissa, exponent] = String(value).split('e');
    const shifted = Math.round(Number(`${mantissa}e${Number(exponent ?? 0) + digits}`));
    const [m, e] = String(shifted).split('e');
    return Number(`${m}e${Number(e ?? 0) - digits}`).toFixed(digits);
  };
  const formatNumber = (number, options = {}) => {
    const { style = 'decimal', currency, notation = 'standard', unit } = options;
    if (unit !== undefined || style === 'unit') refuse('style: "unit"', 'write the unit yourself');
    if (notation !== 'standard' && notation !== 'compact') refuse(`notation: "${notation}"`, 'use toExponential()');
    if (typeof number === 'bigint') return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
    let value = Number(number);
    if (Number.isNaN(value)) return 'NaN';
    const negative = value < 0 || Object.is(value, -0);
    value = Math.abs(value) * (style === 'percent' ? 100 : 1);
    let suffix = style === 'percent' ? '%' : '';
    const whole = style === 'percent' || currency === 'JPY' || currency === 'KRW';
    let least = options.minimumFractionDigits ?? (style === 'currency' && !whole ? 2 : 0);
    let most = options.maximumFractionDigits ?? Math.max(least, style === 'currency' ? least : whole ? 0 : 3);
    if (notation === 'compact') {
      for (const [size, letter] of [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'K']]) {
        if (value >= size) {
          value /= size;
          suffix = letter;
          break;
        }
      }
      if (options.maximumFractionDigits === undefined) [least, most] = [0, value < 100 ? 1 : 0];
    }
    let digits;
    if (options.maximumSignificantDigits !== undefined) digits = String(Number(value.toPrecision(options.maximumSignificantDigits)));
    else if (value === Infinity) digits = '∞';
    else digits = value >= 1e21 ? BigInt(value).toString() : rounded(value, Math.max(least, most));
    let [integer, fraction = ''] = digits.split('.');
    while (fraction.length > least && fraction.endsWith('0')) fraction = fraction.slice(0, -1);
    if (options.useGrouping !== false) integer = integer.replace(/\B(?=(\d{3})+$)/g, ',');
    integer = integer.padStart(options.minimumIntegerDigits ?? 1, '0');
    const symbol = style === 'currency' ? (CURRENCIES[currency] ?? `${currency} `) : '';
    return `${negative ? '-' : ''}${symbol}${integer}${fraction ? `.${fraction}` : ''}${suffix}`;
  };

  const MONTHS = 'January February March April May June July August September October November December'.split(' ');
  const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
  const named = (list, at, how) => (how === 'long' ? list[at] : how === 'narrow' ? list[at][0] : list[at].slice(0, 3));
  const padded = (value, how) => String(value).padStart(how === '2-digit' ? 2 : 1, '0');
  const formatDate = (date, options, fallback) => {
    const time = date.getTime();
    if (Number.isNaN(time)) return 'Invalid Date';
    let { weekday, year, month, day, hour, minute, second, timeZone, hour12, dateStyle, timeStyle } = options ?? {};
    if (timeZone !== undefined && timeZone !== 'UTC' && timeZone !== 'Etc/UTC') refuse(`the time zone ${timeZone}`, 'there is UTC alone');
    for (const other of ['era', 'dayPeriod', 'timeZoneName', 'fractionalSecondDigits', 'hourCycle']) {
      if (options?.[other] !== undefined) refuse(`the option ${other} of dates`, 'put it together from getUTC...()');
    }
    if (dateStyle) {
      [year, month, day] = ['numeric', dateStyle === 'short' ? 'numeric' : dateStyle === 'medium' ? 'short' : 'long', 'numeric'];
      if (dateStyle === 'short') year = '2-digit';
      if (dateStyle === 'full') weekday = 'long';
    }
    if (timeStyle) [hour, minute, second] = ['numeric', '2-digit', timeStyle === 'short' ? undefined : '2-digit'];
    const any = weekday ?? year ?? month ?? day ?? hour ?? minute ?? second;
    if (any === undefined) {
      if (fallback !== 'time') [year, month, day] = ['numeric', 'numeric', 'numeric'];
      if (fallback !== 'date') [hour, minute, second] = ['numeric', '2-digit', '2-digit'];
    }
    const y = year && (year === '2-digit' ? padded(date.getUTCFullYear() % 100, year) : String(date.getUTCFullYear()));
    const d = day && padded(date.getUTCDate(), day);
    const words = month === 'long' || month === 'short' || month === 'narrow';
    const m = month && (words ? named(MONTHS, date.getUTCMonth(), month) : padded(date.getUTCMonth() + 1, month));
    const w = weekday && named(DAYS, date.getUTCDay(), weekday);
    let text;
    if (words) text = [[m, d].filter(Boolean).join(' '), y].filter(Boolean).join(d ? ', ' : ' ');
    else text = [m, d, y].filter(Boolean).join('/');
    text = [w, text].filter(Boolean).join(', ');
    if (hour === undefined && minute === undefined && second === undefined) return text;
    const h = date.getUTCHours();
    const half = hour12 !== false;
    const parts = [
      hour && padded(half ? h % 12 || 12 : h, half ? hour : '2-digit'),
      minute && padded(date.getUTCMinutes(), hour ? '2-digit' : minute),
      second && padded(date.getUTCSeconds(), minute ? '2-digit' : second),
    ];
    const clock = parts.filter(Boolean).join(':') + (hour && half ? (h < 12 ? ' AM' : ' PM') : '');
    return [text, clock].filter(Boolean).join(dateStyle === 'long' || dateStyle === 'full' ? ' at ' : ', ');
  };

  define(String.prototype, 'localeCompare', function localeCompare(other, locales, options) {
    english(locales);
    return compare(this, other, options);
  });
  for (const type of [Number, BigInt]) {
    define(type.prototype, 'toLocaleString', function toLocaleString(locales, options) {
      english(locales);
      return formatNumber(this.valueOf(), options);
    });
  }
  for (const [name, fallback] of [['toLocaleString', 'both'], ['toLocaleDateString', 'date'], ['toLocaleTimeString', 'time']]) {
    define(Date.prototype, name, function (locales, options) {
      english(locales);
      return formatDate(this, options, fallback);
    });
  }

  class NumberFormat {
    constructor(locales, options = {}) {
      english(locales);
      this.format = (value) => formatNumber(value, options);
      this.resolvedOptions = () => ({ locale: 'en-US', ...options });
    }
  }
  class DateTimeFormat {
    constructor(locales, options = {}) {
      english(locales);
      this.format = (value) => {
        if (value === undefined) refuse('the time of now', 'pass a date');
        return formatDate(new Date(value), options, 'date');
      };
      this.resolvedOptions = () => ({ locale: 'en-US', timeZone: 'UTC', calendar: 'gregory', ...options });
    }
  }
  class Collator {
    constructor(locales, options = {}) {
      english(locales);
      this.compare = (a, b) => compare(a, b, options);
      this.resolvedOptions = () => ({ locale: 'en-US', ...options });
    }
  }
  class PluralRules {
    constructor(locales, { type = 'cardinal' } = {}) {
      english(locales);
      this.select = (value) => {
        if (type === 'cardinal') return value === 1 ? 'one' : 'other';
        const [ten, hundred] = [value % 10, value % 100];
        if (hundred >= 11 && hundred <= 13) return 'other';
        return { 1: 'one', 2: 'two', 3: 'few' }[ten] ?? 'other';
      };
    }
  }
  class ListFormat {
    constructor(locales, { type = 'conjunction' } = {}) {
      english(locales);
      const word = type === 'unit' ? '' : type === 'disjunction' ? 'or ' : 'and ';
      this.format = (list) => {
        const items = [...list];
        if (items.length < 2) return items.join('');
        if (items.length === 2 && word) return `${items[0]} ${word}${items[1]}`;
        return `${items.slice(0, -1).join(', ')}, ${word}${items.at(-1)}`;
      };
    }
  }
  const Intl = { NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat };
  for (const name of Object.keys(Intl)) Intl[name].supportedLocalesOf = () => ['en-US'];
  for (const name of ['Segmenter', 'RelativeTimeFormat', 'DisplayNames', 'Locale', 'DurationFormat']) {
    Intl[name] = function () {
      refuse(`Intl.${name}`, 'let an agent do it, or write it out');
    };
  }
  define(globalThis, 'Intl', Intl);

  // ---- texts as bytes

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(text = '') {
      const bytes = [];
      for (const character of String(text).toWellFormed()) {
        const code = character.codePointAt(0);
        if (code < 0x80) bytes.push(code);
        else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
        else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
        else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
      }
      return new Uint8Array(bytes);
    }
  }
  class TextDecoder {
    constructor(label = 'utf-8') {
      if (!/^utf-?8$/i.test(label)) refuse(`the encoding ${label}`, 'there is utf-8 alone');
    }
    get encoding() {
      return 'utf-8';
    }
    decode(input = new Uint8Array()) {
      const bytes = input instanceof ArrayBuffer ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
      let text = '';
      for (let i = 0; i < bytes.length; ) {
        const first = bytes[i];
        const size = first < 0x80 ? 1 : first >> 5 === 6 ? 2 : first >> 4 === 14 ? 3 : first >> 3 === 30 ? 4 : 0;
        let code = size === 1 ? first : first & (0xff >> (size + 1));
        let good = size > 0 && i + size <= bytes.length;
        for (let k = 1; good && k < size; k++) {
          good = bytes[i + k] >> 6 === 2;
          code = (code << 6) | (bytes[i + k] & 63);
        }
        good = good && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) && code >= [0, 0, 0x80, 0x800, 0x10000][size];
        text += good ? String.fromCodePoint(code) : '\ufffd';
        i += good ? size : 1;
      }
      return text.replace(/^\ufeff/, '');
    }
  }
  define(globalThis, 'TextEncoder', TextEncoder);
  define(globalThis, 'TextDecoder', TextDecoder);

  // ---- copies

  define(globalThis, 'structuredClone', function structuredClone(value) {
    const known = new Map();
    const copy = (value) => {
      if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`a ${typeof value} cannot be cloned`);
      if (typeof value !== 'object' || value === null) return value;
      if (known.has(value)) return known.get(value);
      const keep = (made) => {
        known.set(value, made);
        return made;
      };
      if (value instanceof Date) return keep(new Date(value.getTime()));
      if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
      if (value instanceof Map) {
        const made = keep(new Map());
        for (const [key, item] of value) made.set(copy(key), copy(item));
        return made;
      }
      if (value instanceof Set) {
        const made = keep(new Set());
        for (const item of value) made.add(copy(item));
        return made;
      }
      if (value instanceof ArrayBuffer) return keep(value.slice(0));
      if (ArrayBuffer.isView(value)) return keep(value.slice());
      if (value instanceof Error) {
        const made = keep(new value.constructor(value.message));
        made.name = value.name;
        return made;
      }
      const made = keep(Array.isArray(value) ? new Array(value.length) : {});
      for (const key of Object.keys(value)) made[key] = copy(value[key]);
      return made;
    };
    return copy(value);
  });

  // ---- signals

  class AbortSignal {
    #listeners = [];
    aborted = false;
    reason = undefined;
    onabort = null;
    addEventListener(type, listener) {
      if (type === 'abort') this.#listeners.push(listener);
    }
    removeEventListener(type, listener) {
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
    static abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    }
    static timeout(milliseconds) {
      const controller = new AbortController();
      const error = new Error('The operation timed out.');
      error.name = 'TimeoutError';
      setTimeout(() => controller.abort(error), milliseconds);
      return controller.signal;
    }
    static _abort(signal, reason) {
      if (signal.aborted) return;
      signal.aborted = true;
      signal.reason = reason;
      const event = { type: 'abort', target: signal };
      signal.onabort?.(event);
      for (const listener of signal.#listeners) (typeof listener === 'function' ? listener : listener.handleEvent)(event);
    }
  }
  const abort = AbortSignal._abort;
  delete AbortSignal._abort;
  class AbortController {
    signal = new AbortSignal();
    abort(reason) {
      if (reason === undefined) {
        reason = new Error('This operation was aborted.');
        reason.name = 'AbortError';
      }
      abort(this.signal, reason);
    }
  }
  define(globalThis, 'AbortSignal', AbortSignal);
  define(globalThis, 'AbortController', AbortController);

  // ---- addresses

  const PORTS = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21' };
  const utf8 = (text) => encodeURIComponent(String(text).toWellFormed());
  const escaped = (text, keep) => text.replace(keep, (character) => utf8(character).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`));
  const formEncoded = (text) => utf8(text).replace(/%20/g, '+').replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const formDecoded = (text) => {
    try {
      return decodeURIComponent(text.replace(/\+/g, ' '));
    } catch {
      return text;
    }
  };

  class URLSearchParams {
    #pairs = [];
    #changed = null;
    constructor(init = '', changed = null) {
      this.#changed = changed;
      if (typeof init === 'string') {
        for (const piece of init.replace(/^\?/, '').split('&')) {
          if (!piece) continue;
          const at = piece.indexOf('=');
          this.#pairs.push(at < 0 ? [formDecoded(piece), ''] : [formDecoded(piece.slice(0, at)), formDecoded(piece.slice(at + 1))]);
        }
      } else {
        const pairs = typeof init?.[Symbol.iterator] === 'function' ? init : Object.entries(init ?? {});
        for (const [key, value] of pairs) this.#pairs.push([String(key), String(value)]);
      }
    }
    #write(pairs) {
      this.#pairs = pairs;
      this.#changed?.(this.toString());
    }
    append(key, value) {
      this.#write([...this.#pairs, [String(key), String(value)]]);
    }
    delete(key) {
      this.#write(this.#pairs.filter(([name]) => name !== String(key)));
    }
    set(key, value) {
      const at = this.#pairs.findIndex(([name]) => name === String(key));
      const rest = this.#pairs.filter(([name], index) => name !== String(key) || index === at);
      if (at < 0) rest.push([String(key), String(value)]);
      else rest[rest.findIndex(([name]) => name === String(key))] = [String(key), String(value)];
      this.#write(rest);
    }
    sort() {
      this.#write([...this.#pairs].sort(([a], [b]) => order(a, b)));
    }
    get(key) {
      return this.#pairs.find(([name]) => name === String(key))?.[1] ?? null;
    }
    getAll(key) {
      return this.#pairs.filter(([name]) => name === String(key)).map(([, value]) => value);
    }
    has(key) {
      return this.#pairs.some(([name]) => name === String(key));
    }
    get size() {
      return this.#pairs.length;
    }
    forEach(callback) {
      for (const [key, value] of this.#pairs) callback(value, key, this);
    }
    *keys() {
      for (const [key] of this.#pairs) yield key;
    }
    *values() {
      for (const [, value] of this.#pairs) yield value;
    }
    *entries() {
      for (const pair of this.#pairs) yield [...pair];
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([key, value]) => `${formEncoded(key)}=${formEncoded(value)}`).join('&');
    }
  }

  const WHOLE = /^([a-z][a-z0-9+.-]*:)(\/\/(?:([^/?#@]*)@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d*))?)?([^?#]*)(\?[^#]*)?(#.*)?$/i;
  const straight = (path) => {
    const made = [];
    const pieces = path.split('/').slice(1);
    pieces.forEach((piece, index) => {
      const lastOne = index === pieces.length - 1;
      if (piece === '..' || piece.toLowerCase() === '%2e%2e') {
        made.pop();
        if (lastOne) made.push('');
      } else if (piece === '.' || piece.toLowerCase() === '%2e') {
        if (lastOne) made.push('');
      } else made.push(piece);
    });
    return `/${made.join('/')}`;
  };

  class URL {
    constructor(address, base) {
      let text = String(address).trim().replace(/[\t\n\r]/g, '');
      if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) {
        if (base === undefined) throw new TypeError(`Invalid URL: ${text}`);
        text = URL.#resolved(text, new URL(base));
      }
      const found = WHOLE.exec(text);
      const special = found && found[1].toLowerCase() in PORTS;
      if (!found || (special && !found[4])) throw new TypeError(`Invalid URL: ${text}`);
      this.protocol = found[1].toLowerCase();
      const [user = '', password = ''] = (found[3] ?? '').split(/:(.*)/s);
      [this.username, this.password] = [user, password];
      this.hostname = special ? found[4].toLowerCase() : (found[4] ?? '');
      if (/[\s<>^|%]/.test(this.hostname) || Number(found[5] ?? 0) > 65535) throw new TypeError(`Invalid URL: ${text}`);
      this.port = found[5] === undefined || found[5] === PORTS[this.protocol] ? '' : String(Number(found[5]));
      const path = escaped(found[6], /[\s"<>`{}^|]|[^\x00-\x7f]/gu);
      this.pathname = special || found[2] !== undefined ? straight(path || '/') : path;
      this.hash = found[8] && found[8] !== '#' ? escaped(found[8], /[\s"<>`]|[^\x00-\x7f]/gu) : '';
      this.#search(found[7] ?? '');
    }
    #query = '';
    #params = null;
    #search(text) {
      const plain = text.replace(/^\?/, '');
      this.#query = plain ? `?${escaped(plain, /[\s"<>']|[^\x00-\x7f]/gu)}` : '';
      this.#params = new URLSearchParams(plain, (now) => {
        this.#query = now ? `?${now}` : '';
      });
    }
    static #resolved(text, base) {
      if (text.startsWith('//')) return base.protocol + text;
      const origin = `${base.protocol}//${base.host}`;
      if (text.startsWith('/')) return origin + text;
      if (text.startsWith('?')) return origin + base.pathname + text;
      if (text.startsWith('#')) return origin + base.pathname + base.search + text;
      return text === '' ? origin + base.pathname + base.search : origin + base.pathname.replace(/[^/]*$/, '') + text;
    }
    static canParse(address, base) {
      try {
        return Boolean(new URL(address, base));
      } catch {
        return false;
      }
    }
    static parse(address, base) {
      return URL.canParse(address, base) ? new URL(address, base) : null;
    }
    get search() {
      return this.#query;
    }
    set search(text) {
      this.#search(String(text));
    }
    get searchParams() {
      return this.#params;
    }
    get host() {
      return this.hostname + (this.port ? `:${this.port}` : '');
    }
    get origin() {
      return this.protocol in PORTS ? `${this.protocol}//${this.host}` : 'null';
    }
    get href() {
      const user = this.username ? `${this.username}${this.password ? `:${this.password}` : ''}@` : '';
      const slashes = this.host || this.protocol in PORTS || this.protocol === 'file:' ? '//' : '';
      return this.protocol + slashes + user + this.host + this.pathname + this.search + this.hash;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
  }
  define(globalThis, 'URL', URL);
  define(globalThis, 'URLSearchParams', URLSearchParams);
})();
