import { messageOf, type ZinError } from 'zin'
import { backoffFault } from './backoff.js'
import type { JobOptions } from './contract.js'
import { deduplicationFault } from './deduplication.js'
import { queueErrors } from './errors.js'
import { jobIdFault } from './job-id.js'

/** BullMQ's priority number for the least urgent jobs. */
const mostPriority = 2 ** 21 - 1
/** The largest numbers that every backend stores. */
const mostAttempts = 2 ** 31 - 1
const mostMs = Number.MAX_SAFE_INTEGER

/** Whether a queue belongs to a plugin: its name begins with `zin-`. Operators neither see nor manage it, and no worker consumes it. */
export function isInternalQueue(queue: string): boolean {
  return queue.startsWith('zin-')
}

/** Throws when a job is too large or cannot be stored identically on every backend. Pure. */
export function checkJob(queue: string, jobName: string, data: unknown, options: JobOptions, maxBytes: number): void {
  const json = jsonOf(queue, data)
  const bytes = Buffer.byteLength(json)
  if (bytes > maxBytes) throw queueErrors.PAYLOAD_TOO_LARGE(queue, bytes, maxBytes)
  const unstorable: readonly (readonly [part: string, refused: boolean])[] = [
    ['data', !isStorableJson(json)],
    ['name', !isKeptText(jobName)],
    ['deduplication id', !isKeptText(options.deduplication?.id ?? '')],
  ]
  const [part] = unstorable.find(([, refused]) => refused) ?? []
  if (part !== undefined) throw queueErrors.QUEUE_INVALID_JOB(queue, `its ${part} contains ${unstorableText}`)
  const idFault = options.jobId === undefined ? undefined : jobIdFault(options.jobId)
  if (idFault !== undefined) throw queueErrors.QUEUE_INVALID_JOB(queue, `its id ${idFault}`)
  const { attempts, backoff, deduplication, delay, priority = 0 } = options
  for (const [what, value, isRight, wanted] of [
    ['delay', delay, isTime(delay), `a number of ms up to ${mostMs}`],
    ['timestamp', options.timestamp, isTime(options.timestamp), `a number of ms up to ${mostMs}`],
    ['attempts', attempts, Number.isInteger(attempts) && Math.abs(Number(attempts)) <= mostAttempts, `an integer up to ${mostAttempts}`],
  ] as const) {
    if (value !== undefined && !isRight) throw queueErrors.QUEUE_INVALID_JOB(queue, `its ${what} is ${value} instead of ${wanted}`)
  }
  const waits = backoff === undefined ? undefined : backoffFault(backoff)
  if (waits !== undefined) throw queueErrors.QUEUE_INVALID_JOB(queue, `its backoff ${waits}`)
  const repeats = deduplication === undefined ? undefined : deduplicationFault(deduplication, delay)
  if (repeats !== undefined) throw queueErrors.QUEUE_INVALID_JOB(queue, `its deduplication ${repeats}`)
  if (!Number.isInteger(priority) || priority < 0 || priority > mostPriority) {
    throw queueErrors.QUEUE_INVALID_JOB(queue, `its priority is ${priority} instead of an integer between 0 and ${mostPriority}`)
  }
  if ('repeat' in options && options.repeat !== undefined) {
    throw queueErrors.QUEUE_INVALID_JOB(
      queue,
      'the option "repeat" no longer exists, and the job would be added only once. Use schedule(queue, id, { every } or { pattern }, template)',
    )
  }
}

const isTime = (ms: unknown): boolean => Number.isFinite(ms) && Math.abs(Number(ms)) <= mostMs

/** The embedded store reads a text without a byte order mark at its start, as readers of UTF-8 do. */
const isKeptText = (text: string): boolean => isStorableText(text) && !text.startsWith('\ufeff')

function jsonOf(queue: string, data: unknown): string {
  try {
    const json = JSON.stringify(data) as string | undefined
    if (json !== undefined || data === undefined) return json ?? ''
  } catch (error) {
    throw queueErrors.QUEUE_INVALID_JOB(queue, `its data cannot be serialized as JSON: ${messageOf(error)}`)
  }
  throw queueErrors.QUEUE_INVALID_JOB(queue, `its data is a ${typeof data}, which cannot be serialized as JSON`)
}

/** Throws PAYLOAD_TOO_LARGE if a value that a processor writes is too large. Values that cannot be serialized fail when they are stored. Pure. */
export function checkWrite(queue: string, what: 'data' | 'progress' | 'log line', value: unknown, maxBytes: number): void {
  const bytes = bytesOf(serialized(value).json ?? '', maxBytes)
  if (bytes > maxBytes) throw queueErrors.PAYLOAD_TOO_LARGE(queue, bytes, maxBytes, what)
}

/** The error for a result that must not be stored: JOB_PAYLOAD_UNSTORABLE for its stored form, JOB_RESULT_TOO_LARGE for its original. Pure. */
export function resultRefusal(queue: string, result: unknown, stored: unknown, maxBytes: number): ZinError | undefined {
  const { fault, json } = serialized(stored)
  const unstorable = fault ?? jsonFault(json)
  if (unstorable !== undefined) return queueErrors.JOB_PAYLOAD_UNSTORABLE(queue, 'result', unstorable)
  const storedBytes = bytesOf(json ?? '', maxBytes)
  // The limit applies to the original, which is shorter than an encrypted stored form. It is measured only if the stored form is too long.
  const bytes = storedBytes <= maxBytes || stored === result ? storedBytes : bytesOf(serialized(result).json ?? '', maxBytes)
  return bytes > maxBytes ? queueErrors.JOB_RESULT_TOO_LARGE(queue, bytes, maxBytes) : undefined
}

/** The reason why a value cannot be stored as a job result on every backend; undefined if it can. Pure. */
export function resultFault(value: unknown): string | undefined {
  const { fault, json } = serialized(value)
  return fault ?? jsonFault(json)
}

function serialized(value: unknown): { readonly json?: string | undefined; readonly fault?: string } {
  try {
    return { json: JSON.stringify(value) as string | undefined }
  } catch (error) {
    return { fault: `it cannot be serialized as JSON: ${messageOf(error)}` }
  }
}

function jsonFault(json: string | undefined): string | undefined {
  return json === undefined || isStorableJson(json) ? undefined : `it contains ${unstorableText}`
}

/** The size in UTF-8. Returns the number of characters if the text fits the limit even at three bytes per character. */
function bytesOf(json: string, maxBytes: number): number {
  return json.length * 3 <= maxBytes ? json.length : Buffer.byteLength(json)
}

/** Whether every store can store a text: it must not contain NUL or lone surrogates. */
export function isStorableText(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text)
}

const unstorableText =
  'the character NUL, a lone surrogate, or a byte order mark at its start, which some stores cannot store. Remove it, or encode the text as base64'

/** Looks for the escapes that JSON.stringify writes for these characters, and ignores the same six characters after an escaped backslash. */
function isStorableJson(json: string): boolean {
  const suspect = json.includes('\\u0000') || json.includes('\\ud')
  return !(suspect && /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json))
}
