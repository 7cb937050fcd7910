import { ZinError } from '../errors.js'

/** Replaces a secret. */
export const mask = '********'

/** Maximum depth and number of values of the facts of a line; anything beyond is replaced by a placeholder. */
const maxDepth = 8
const maxValues = 2_000

const secretSuffix = /(?:authorization|cookies?|password|passwd|passphrase|secret|token|jwt|apikey|privatekey|signature|nonce|bodysha256)$/
const secretNames = new Set(['appkey', 'authkey', 'signingkey', 'credentials', 'secrets', 'tokens'])

/** Whether a field of this name holds a secret. Case, `-` and `_` do not matter: `x-sig-signature`, `MAIL_PASSWORD`, `apiKey`. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-_]/g, '')
  return secretSuffix.test(plain) || secretNames.has(plain)
}

/** Fields that pino writes itself; facts with these names are renamed. */
const reserved = new Set(['level', 'time', 'pid', 'app', 'msg'])

/** Copies the facts of a line in a form that is safe to write: secrets masked, errors as plain objects, size and depth bounded. */
export function redactFacts(facts: object): Record<string, unknown> {
  const budget = { left: maxValues }
  if (facts instanceof Error) return { err: plainError(facts, 0, budget) }
  const safe = ownFields(facts, 0, budget)
  for (const key of Object.keys(safe)) {
    if (!reserved.has(key)) continue
    safe[`${key}_`] = safe[key]
    delete safe[key]
  }
  return safe
}

interface Budget {
  left: number
}

function ownFields(value: object, depth: number, budget: Budget, keys = Object.keys(value)): Record<string, unknown> {
  const safe: Record<string, unknown> = Object.create(null)
  for (const key of keys) {
    if (budget.left-- <= 0) {
      safe['…'] = 'too many values'
      break
    }
    try {
      safe[key] = field(key, (value as Record<string, unknown>)[key], depth, budget)
    } catch {
      // A getter or `toJSON` threw; the line must be written nevertheless.
      safe[key] = '[unreadable]'
    }
  }
  return safe
}

function field(key: string, value: unknown, depth: number, budget: Budget): unknown {
  if (key === 'plugins' && Array.isArray(value)) return safeList(value, depth + 1, budget, false)
  const harmless = value === undefined || value === null || value === '' || typeof value === 'boolean'
  return !harmless && isSecretName(key) ? mask : safeValue(value, depth + 1, budget)
}

function safeValue(value: unknown, depth: number, budget: Budget): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (ArrayBuffer.isView(value)) return `[${value.constructor.name} of ${value.byteLength} bytes]`
  if (depth > maxDepth) return Array.isArray(value) ? '[Array]' : '[Object]'
  if (value instanceof Error) return plainError(value, depth, budget)
  if (Array.isArray(value)) return safeList(value, depth, budget)
  if (value instanceof Set) return safeList([...value], depth, budget)
  if (value instanceof Map) return safeValue(Object.fromEntries(value), depth, budget)
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const json: unknown = value.toJSON()
    if (json !== value) return safeValue(json, depth + 1, budget)
  }
  return ownFields(value, depth, budget)
}

/**
 * Masks a string that follows the name of a secret, because header lists alternate names and values (`rawHeaders`) and pairs are
 * `[name, value]`. Not if `pairs` is false: the fact `plugins` lists only names, one of which is `jwt`.
 */
function safeList(items: readonly unknown[], depth: number, budget: Budget, pairs = true): unknown[] {
  const kept = items.slice(0, Math.max(0, budget.left))
  budget.left -= kept.length
  const safe = kept.map((item, index) => {
    const before = items[index - 1]
    const follows = pairs && typeof item === 'string' && typeof before === 'string' && isSecretName(before) && !before.includes(' ')
    return follows ? mask : safeValue(item, depth + 1, budget)
  })
  if (kept.length < items.length) safe.push(`… ${items.length - kept.length} more`)
  return safe
}

/**
 * Converts an error to a plain object. A {@link ZinError} with status 503 is logged without stacks: its message already says what is
 * unavailable, and with source maps, resolving the first stack takes longer than all the requests that fail meanwhile.
 */
function plainError(error: Error, depth: number, budget: Budget, withStack = !isUnavailability(error)): Record<string, unknown> {
  const { message, cause } = error
  const own = Object.keys(error).filter((key) => key !== 'cause')
  const plain: Record<string, unknown> = {
    type: error.name,
    message,
    ...(withStack && { stack: error.stack }),
    ...ownFields(error, depth, budget, own),
  }
  if (cause instanceof Error) plain.cause = depth < maxDepth ? plainError(cause, depth + 1, budget, withStack) : '[Object]'
  else if (cause !== undefined) plain.cause = safeValue(cause, depth + 1, budget)
  if (error instanceof AggregateError) plain.errors = safeValue(error.errors, depth + 1, budget)
  return plain
}

const isUnavailability = (error: Error): boolean => error instanceof ZinError && error.status === 503

/** What each of the forms below contains. */
const mayHoldSecret = /eyJ|:\/\/|[?&]|bearer|basic/i

/**
 * Masks secrets inside text: bearer tokens, JWTs, passwords in URLs and secret query parameters. The placeholder
 * `[user:password@]`, which messages use to show the form of a URL, is not masked.
 */
export function maskText(text: string): string {
  if (!mayHoldSecret.test(text)) return text
  return text
    .replace(/\b(Bearer|Basic)\s+[\w.~+/-]{12,}=*/gi, `$1 ${mask}`)
    .replace(/\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g, mask)
    .replace(/:\/\/(?!\[user:password@\])([^\s/@:"'\\]*):[^\s/@"'\\]+@/g, `://$1:${mask}@`)
    .replace(/([?&][\w-]{0,40}(?:token|secret|password|key|signature|jwt|nonce)=)[^&\s"'\\#]+/gi, `$1${mask}`)
}
