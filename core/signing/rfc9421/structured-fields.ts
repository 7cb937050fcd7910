import { fromBase64 } from '../bytes.js'

/** A bare item of RFC 8941. */
export type BareItem =
  | { readonly type: 'string' | 'token'; readonly value: string }
  | { readonly type: 'integer' | 'decimal'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'bytes'; readonly value: Uint8Array }

export type Parameters = ReadonlyMap<string, BareItem>

export interface Item {
  readonly kind: 'item'
  readonly value: BareItem
  readonly params: Parameters
}

export interface InnerList {
  readonly kind: 'list'
  readonly items: readonly Item[]
  readonly params: Parameters
}

export type Member = Item | InnerList

/**
 * Parses a dictionary (RFC 8941). Returns `undefined` if it is malformed. Stricter than the RFC in two points: repeated keys, in the
 * dictionary or among parameters, and non-canonical base64 are malformed.
 */
export function parseDictionary(text: string): ReadonlyMap<string, Member> | undefined {
  try {
    return readDictionary(new Cursor(withoutOuterSpaces(text)))
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

class Malformed extends Error {}

/** Without a regular expression: a pattern for trailing spaces would be retried at each of many inner spaces. */
function withoutOuterSpaces(text: string): string {
  let [from, to] = [0, text.length]
  while (text[from] === ' ') from += 1
  while (to > from && text[to - 1] === ' ') to -= 1
  return text.slice(from, to)
}

/** A position in a text. All patterns must be sticky. */
class Cursor {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get atEnd(): boolean {
    return this.#at === this.#text.length
  }

  /** Consumes and returns what the pattern matches at the position: its first group if it has one. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null) return undefined
    this.#at = pattern.lastIndex
    return match[1] ?? match[0]
  }

  need(pattern: RegExp): string {
    const found = this.take(pattern)
    if (found === undefined) throw new Malformed()
    return found
  }
}

const keyPattern = () => /[a-z*][a-z0-9_.*-]*/y

function readDictionary(cursor: Cursor): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>()
  while (!cursor.atEnd) {
    if (members.size > 0) {
      cursor.need(/[ \t]*,[ \t]*/y)
      if (cursor.atEnd) throw new Malformed()
    }
    const key = cursor.need(keyPattern())
    if (members.has(key)) throw new Malformed()
    members.set(key, cursor.take(/=/y) === undefined ? readItem(cursor, { type: 'boolean', value: true }) : readMember(cursor))
    cursor.take(/[ \t]+$/y)
  }
  return members
}

function readMember(cursor: Cursor): Member {
  if (cursor.take(/\(/y) === undefined) return readItem(cursor)
  const items: Item[] = []
  for (;;) {
    const spaces = cursor.take(/ +/y)
    if (cursor.take(/\)/y) !== undefined) return { kind: 'list', items, params: readParameters(cursor) }
    if (items.length > 0 && spaces === undefined) throw new Malformed()
    items.push(readItem(cursor))
  }
}

function readItem(cursor: Cursor, value: BareItem = readBareItem(cursor)): Item {
  return { kind: 'item', value, params: readParameters(cursor) }
}

function readParameters(cursor: Cursor): Parameters {
  const params = new Map<string, BareItem>()
  while (cursor.take(/; */y) !== undefined) {
    const key = cursor.need(keyPattern())
    if (params.has(key)) throw new Malformed()
    params.set(key, cursor.take(/=/y) === undefined ? { type: 'boolean', value: true } : readBareItem(cursor))
  }
  return params
}

function readBareItem(cursor: Cursor): BareItem {
  const string = cursor.take(/"((?:[ !#-[\]-~]|\\["\\])*)"/y)
  if (string !== undefined) return { type: 'string', value: string.replace(/\\(.)/g, '$1') }
  const base64 = cursor.take(/:([A-Za-z0-9+/=]*):/y)
  if (base64 !== undefined) return { type: 'bytes', value: fromBase64(base64) ?? malformed() }
  const boolean = cursor.take(/\?([01])/y)
  if (boolean !== undefined) return { type: 'boolean', value: boolean === '1' }
  const decimal = cursor.take(/-?\d{1,12}\.\d{1,3}(?![\d.])/y)
  if (decimal !== undefined) return { type: 'decimal', value: Number(decimal) }
  const integer = cursor.take(/-?\d{1,15}(?![\d.])/y)
  if (integer !== undefined) return { type: 'integer', value: Number(integer) }
  return { type: 'token', value: cursor.need(/[A-Za-z*][!#$%&'*+\-.^_`|~A-Za-z0-9:/]*/y) }
}

function malformed(): never {
  throw new Malformed()
}
