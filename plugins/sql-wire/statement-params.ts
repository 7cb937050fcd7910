import { WireError } from './errors.js'
import { hasForm, isInteger, paramFault } from './param.js'
import type { TaggedValue, WireParam } from './wire.js'

export const paramTypes = [
  'text',
  'bool',
  'int32',
  'int64',
  'uint64',
  'decimal',
  'float64',
  'date',
  'time',
  'datetime',
  'timestamp',
  'blob',
  'json',
] as const

export type ParamType = (typeof paramTypes)[number]

/** A typed parameter of a registered statement. */
export interface ParamSpec {
  readonly name: string
  readonly type: ParamType
  /** Default false: null is refused. */
  readonly nullable?: boolean
  /** In characters for text, in bytes for blobs. */
  readonly maxLength?: number
}

/**
 * Checks parameters and returns them ready to bind: 64-bit integers, decimals, dates and times may be plain text, as in results, and are
 * tagged. Throws INVALID_PARAM with the index.
 */
export function checkParams(specs: readonly ParamSpec[], params: readonly WireParam[]): readonly WireParam[] {
  if (params.length !== specs.length) throw wrongCount(specs.length, params.length)
  return specs.map((spec, index) => {
    const value = params[index] as WireParam
    const bound = value === null ? (spec.nullable === true ? null : undefined) : boundAs(spec, value)
    if (bound === undefined)
      throw new WireError('INVALID_PARAM', `Parameter ${index} (${spec.name}) must be ${wanted(spec)}`, { details: { index } })
    return bound
  })
}

/** Returns the error for a wrong number of parameters. */
export function wrongCount(placeholders: number, params: number): WireError {
  const index = Math.min(placeholders, params)
  return new WireError('INVALID_PARAM', `The statement takes ${placeholders} parameters; the request has ${params}`, { details: { index } })
}

function wanted({ type, nullable, maxLength }: ParamSpec): string {
  const unit = type === 'blob' ? 'bytes' : 'characters'
  return `of type ${type}${maxLength === undefined ? '' : ` with at most ${maxLength} ${unit}`}${nullable === true ? ', or null' : ''}`
}

/** Returns undefined if the value does not have the type. */
function boundAs({ type, maxLength = Number.POSITIVE_INFINITY }: ParamSpec, value: WireParam): WireParam | undefined {
  if (paramFault(value) !== undefined || value === null) return undefined
  switch (type) {
    case 'text':
      return typeof value === 'string' && Array.from(value).length <= maxLength ? value : undefined
    case 'bool':
      return typeof value === 'boolean' ? value : undefined
    case 'int32':
      return typeof value === 'number' && Number.isInteger(value) && Math.abs(value + 0.5) < 2 ** 31 ? value : undefined
    case 'float64':
      return typeof value === 'number' ? value : tagged(value, 'real')
    case 'int64':
    case 'uint64':
      return integerOf(type, value)
    case 'decimal':
      return typeof value === 'number' ? (Number.isSafeInteger(value) ? value : undefined) : textOf(type, value)
    case 'date':
    case 'time':
    case 'datetime':
    case 'timestamp':
      return textOf(type, value)
    case 'blob': {
      const blob = tagged(value, 'blob')
      return blob?.$type === 'blob' && bytesIn(blob.base64) <= maxLength ? blob : undefined
    }
    case 'json':
      if (typeof value === 'string') return isJson(value) ? value : undefined
      return tagged(value, 'json')
  }
}

function tagged(value: WireParam, type: TaggedValue['$type']): TaggedValue | undefined {
  return typeof value === 'object' && value !== null && value.$type === type ? value : undefined
}

/** Returns the text of a plain or tagged value. */
function textIn(value: WireParam, type: TaggedValue['$type']): string | undefined {
  const found = typeof value === 'string' ? value : tagged(value, type)
  if (typeof found === 'string' || found === undefined) return found
  return 'value' in found && typeof found.value === 'string' ? found.value : undefined
}

function integerOf(type: 'int64' | 'uint64', value: WireParam): WireParam | undefined {
  const text = typeof value === 'number' ? String(value) : textIn(value, type)
  return text !== undefined && isInteger(text, type) ? { $type: type, value: text } : undefined
}

function textOf(type: 'decimal' | 'date' | 'time' | 'datetime' | 'timestamp', value: WireParam): WireParam | undefined {
  const text = textIn(value, type)
  return text !== undefined && hasForm(type, text) ? { $type: type, value: text } : undefined
}

function bytesIn(base64: string): number {
  return (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
