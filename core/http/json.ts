import { httpErrors } from './errors.js'

/** Maximum nesting depth: above any legitimate body, below the limits of JSON.stringify and validators. */
const maxDepth = 500

/**
 * Parses the bytes of a JSON body. Keys named `__proto__` are dropped. Throws 400 `INVALID_JSON` with the position, but never
 * the text; also for lone surrogates, which are no characters: stores and other services refuse or change them.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw httpErrors.INVALID_JSON('it begins with a byte order mark')
  if (bytes.length > maxDepth && nestedTooDeep(bytes)) throw httpErrors.INVALID_JSON(`it is nested deeper than ${maxDepth} levels`)
  const text = bytes.toString('utf8')
  if (text.includes('\\u') && hasLoneSurrogate(text)) throw httpErrors.INVALID_JSON('it contains a lone surrogate (\\ud800 to \\udfff)')
  const suspect = text.includes('__proto__') || text.includes('\\u00')
  try {
    return suspect ? JSON.parse(text, withoutProto) : JSON.parse(text)
  } catch {
    throw httpErrors.INVALID_JSON(describeFault(text))
  }
}

/**
 * Writes a value as JSON, a bigint as text with its digits.
 *
 * @param strict whether values are refused that JSON would empty or leave out, such as a Map, a promise, a function, or bytes in a field.
 */
export function jsonText(value: unknown, strict = false): string {
  let text: string | undefined
  if (strict) text = JSON.stringify(value, checked)
  else {
    try {
      text = JSON.stringify(value)
    } catch {
      // It has a bigint, or cannot be written at all. Checking each value first would cost more than the rest.
      text = JSON.stringify(value, digits)
    }
  }
  if (text === undefined) throw httpErrors.UNSENDABLE_VALUE(`a ${typeof value}`, '')
  return text
}

const digits = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

function checked(this: unknown, key: string, value: unknown): unknown {
  // A Buffer has become its JSON already.
  const original = (this as Readonly<Record<string, unknown>>)[key]
  if (original !== value && ArrayBuffer.isView(original)) throw httpErrors.UNSENDABLE_VALUE('a Buffer', key)
  if (typeof value === 'function' || typeof value === 'symbol') throw httpErrors.UNSENDABLE_VALUE(`a ${typeof value}`, key)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return digits(key, value)
  if (isEmptied(value)) throw httpErrors.UNSENDABLE_VALUE(`a ${Object.prototype.toString.call(value).slice(8, -1)}`, key)
  return value
}

/** Whether an object holds what is not in its fields: a collection, bytes, a promise, an error or a stream. */
function isEmptied(value: object): boolean {
  if (ArrayBuffer.isView(value)) return true
  if (Object.keys(value).length > 0) return false
  const isBoxed = value instanceof Number || value instanceof String || value instanceof Boolean
  const tag = Object.prototype.toString.call(value)
  return !isBoxed && (tag !== '[object Object]' || Symbol.iterator in value || Symbol.asyncIterator in value)
}

const escapes = /\\(?:u([\dA-Fa-f]{4})|.)/gs

/** In UTF-8, only an escape can be one. */
function hasLoneSurrogate(text: string): boolean {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return false
  let lowExpectedAt: number | undefined
  for (const { 0: whole, 1: digits = '', index } of text.matchAll(escapes)) {
    const isLow = /^d[c-f]/i.test(digits)
    if (isLow !== (index === lowExpectedAt) || (lowExpectedAt !== undefined && !isLow)) return true
    lowExpectedAt = /^d[89ab]/i.test(digits) ? index + whole.length : undefined
  }
  return lowExpectedAt !== undefined
}

const withoutProto = (key: string, value: unknown): unknown => (key === '__proto__' ? undefined : value)

function nestedTooDeep(bytes: Buffer): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) return true
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return false
}

function describeFault(text: string): string {
  const position = faultPosition(text)
  return position >= text.length ? 'it ends too early' : `unexpected character at position ${position}`
}

const space = /[ \t\n\r]*/y
const scalar = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const string = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"/y

/**
 * Returns the position of the first token that JSON does not allow. The engine's message has no position for short texts and
 * quotes the text for others.
 */
export function faultPosition(text: string): number {
  let at = 0
  const eat = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const closers: string[] = []
  const after = (): 'value' | 'key' | 'done' | 'fault' => {
    for (;;) {
      eat(space)
      const closer = closers.at(-1)
      if (closer === undefined) return 'done'
      if (text[at] === ',') {
        at++
        return closer === '}' ? 'key' : 'value'
      }
      if (text[at] !== closer) return 'fault'
      closers.pop()
      at++
    }
  }
  let expected: 'value' | 'key' | 'done' | 'fault' = 'value'
  while (expected === 'value' || expected === 'key') {
    eat(space)
    if (expected === 'key') {
      if (!eat(string)) return at
      eat(space)
      if (text[at] !== ':') return at
      at++
      expected = 'value'
      continue
    }
    const opener = text[at]
    if (opener !== '{' && opener !== '[') {
      if (!eat(scalar)) return at
      expected = after()
      continue
    }
    closers.push(opener === '{' ? '}' : ']')
    at++
    eat(space)
    if (text[at] === closers.at(-1)) expected = after()
    else expected = opener === '{' ? 'key' : 'value'
  }
  return at
}
