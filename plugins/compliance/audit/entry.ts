import { createHmac } from 'node:crypto'

/** The content of an entry, before it has a position in a chain. */
export interface AuditFacts {
  /** ms since 1970. */
  readonly at: number
  /** `<subject>.<verb>`: `worker.stop`, `job.end`, `payload.view`. */
  readonly action: string
  /** `<type>:<id>`: `worker:email-sender`, `job:emails/42`. */
  readonly target: string
  /**
   * `asked`: written before the action, which may not have been performed. `done`, `failed`: its result. For jobs: `completed`, `failed`, …
   * For entries of the log itself: `noted`.
   */
  readonly outcome: string
  /** `<kind>:<id>`: `user:42`, `key:ops`, `local:local`, `plugin:canary`. */
  readonly actor: string
  /** Id of the device that signed the request, if any. */
  readonly device: string | null
  /** `http`, `cli` or `plugin`. */
  readonly via: string
  /** Keyed digests of the state before and after: equal states have equal digests, and the states cannot be derived from them. */
  readonly before: string | null
  readonly after: string | null
  readonly reason: string | null
  /** Client address. */
  readonly address: string | null
  readonly requestId: string | null
  /** Id of the `asked` entry of the same action. */
  readonly ref: number | null
}

/** An entry of the log. */
export interface AuditEntry extends AuditFacts {
  /** `chain * 1,000,000,000 + number`, with numbers from 1. */
  readonly id: number
  /** HMAC-SHA256 over the previous hash and all fields, hex. */
  readonly hash: string
}

/** Maximum number of entries per chain. */
export const perChain = 1_000_000_000
/** Highest number of a chain: all ids of its entries are below 2^53. */
export const lastChain = Math.floor(Number.MAX_SAFE_INTEGER / perChain) - 1

export const idOf = (chain: number, number: number): number => chain * perChain + number
export const chainOf = (id: number): number => Math.floor(id / perChain)
export const numberOf = (id: number): number => id % perChain

/** The "previous hash" of the first entry of a chain. */
export const noHash = '0'.repeat(64)

/** Returns the hash of an entry from the previous hash. The order of the fields is part of the format: never change it. */
export function hashOf(key: Buffer, previous: string, id: number, facts: AuditFacts): string {
  const { at, action, target, outcome, actor, device, via, before, after, reason, address, requestId, ref } = facts
  const fields = [previous, id, at, action, target, outcome, actor, device, via, before, after, reason, address, requestId, ref]
  return createHmac('sha256', key).update(JSON.stringify(fields)).digest('hex')
}

/** Creates an entry. Names every field, because a spread takes longer than the hash. */
export function entryOf(facts: AuditFacts, id: number, hash: string): AuditEntry {
  const { at, action, target, outcome, actor, device, via, before, after, reason, address, requestId, ref } = facts
  return { id, at, action, target, outcome, actor, device, via, before, after, reason, address, requestId, ref, hash }
}

const lengths = [
  ['action', 100],
  ['target', 250],
  ['outcome', 20],
  ['actor', 200],
  ['device', 200],
  ['via', 10],
  ['reason', 500],
  ['address', 64],
  ['requestId', 128],
] as const

const printable = /^[ -~]*$/

/** Returns the facts as the table can store them: texts are cut to length, on one line, without control characters or lone surrogates. */
export function fitted(facts: AuditFacts): AuditFacts {
  if (lengths.every(([name, length]) => fits(facts[name], length))) return facts
  const fitting: { -readonly [K in keyof AuditFacts]: AuditFacts[K] } = { ...facts }
  for (const [name, length] of lengths) {
    const text = facts[name]
    if (text !== null && !fits(text, length)) fitting[name] = cut(text, length)
  }
  return fitting
}

function fits(text: string | null, length: number): boolean {
  return text === null || (text.length <= length && printable.test(text))
}

function cut(text: string, length: number): string {
  const line = Buffer.from(text.slice(0, 4 * length).replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')).toString()
  return line.length <= length ? line : `${line.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
