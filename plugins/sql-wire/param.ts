import { isBase64 } from './base64.js'
import type { TaggedValue, WireParam } from './wire.js'

const decimal = /^[+-]?(\d{1,65}(\.\d{0,38})?|\.\d{1,38})$/
const real = /^-?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?$/
const dates = /^\d{4}-\d{2}-\d{2}$/
const times = /^-?\d{1,3}:\d{2}:\d{2}(\.\d{1,6})?$/
const dateTimes = /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$/
const specialReals: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity', '-0'])

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const uint64 = { min: 0n, max: 2n ** 64n - 1n }

/** Returns whether a text is an integer in range, in decimal digits without leading zeros. */
export function isInteger(text: string, type: 'int64' | 'uint64'): boolean {
  if (!/^(0|-?[1-9]\d{0,19})$/.test(text)) return false
  const { min, max } = type === 'int64' ? int64 : uint64
  const value = BigInt(text)
  return value >= min && value <= max
}

type TextType = Exclude<TaggedValue['$type'], 'blob' | 'json'>

const isForm: Readonly<Record<TextType, (text: string) => boolean>> = {
  int64: (text) => isInteger(text, 'int64'),
  uint64: (text) => isInteger(text, 'uint64'),
  decimal: (text) => decimal.test(text),
  date: (text) => dates.test(text),
  time: (text) => times.test(text),
  datetime: (text) => dateTimes.test(text),
  timestamp: (text) => dateTimes.test(text),
  real: (text) => specialReals.has(text) || (real.test(text) && Number.isFinite(Number(text))),
}

/** Returns whether a text matches the format of a type that is sent as text, such as `decimal`. */
export function hasForm(type: TextType, text: string): boolean {
  return isForm[type](text)
}

/** Returns what is wrong with a parameter; undefined if it is valid. */
export function paramFault(value: unknown): string | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined
  if (typeof value === 'number') return numberFault(value)
  if (typeof value !== 'object') return 'is not a JSON value'
  if (Array.isArray(value)) return 'is an array; pass each element as a separate parameter, or tag it as json'
  return taggedFault(value as Readonly<Record<string, unknown>>)
}

function numberFault(value: number): string | undefined {
  if (!Number.isFinite(value)) return 'is not a finite number'
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? 'is an integer that JSON cannot represent exactly; tag it as int64'
    : undefined
}

function taggedFault(value: Readonly<Record<string, unknown>>): string | undefined {
  const type = value.$type
  if (typeof type !== 'string') return 'is an object without "$type"'
  const field = type === 'blob' ? 'base64' : 'value'
  const strange = Object.keys(value).find((key) => key !== '$type' && key !== field)
  if (strange !== undefined) return `has the unknown field ${JSON.stringify(strange.slice(0, 40))}`
  if (!Object.hasOwn(value, field)) return `of type ${JSON.stringify(type.slice(0, 20))} lacks "${field}"`
  const content = value[field]
  if (type === 'json') return undefined
  if (type === 'blob') return typeof content === 'string' && isBase64(content) ? undefined : 'is not padded standard base64'
  if (!Object.hasOwn(isForm, type)) return `has the unknown type ${JSON.stringify(type.slice(0, 20))}`
  if (typeof content !== 'string') return `of type ${type} must have a string as its "value"`
  return isForm[type as TextType](content) ? undefined : `is not a valid ${type}`
}

/** Returns whether a value is a valid parameter. */
export function isWireParam(value: unknown): value is WireParam {
  return paramFault(value) === undefined
}
