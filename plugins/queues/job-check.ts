import type { JobsOptions } from 'bullmq'
import { messageOf } from 'zin'
import { queueErrors } from './errors.js'

/** Throws when a job could not be stored alike on every backend, or is too large. Pure. */
export function checkJob(queue: string, jobName: string, data: unknown, options: JobsOptions, maxBytes: number): void {
  const json = jsonOf(queue, data)
  const bytes = Buffer.byteLength(json)
  if (bytes > maxBytes) throw queueErrors.PAYLOAD_TOO_LARGE(queue, bytes, maxBytes)
  const unstorable: readonly (readonly [part: string, refused: boolean])[] = [
    ['data', !isStorableJson(json)],
    ['name', !isStorableText(jobName)],
    ['id', !isStorableText(options.jobId ?? '')],
    ['deduplication id', !isStorableText(options.deduplication?.id ?? '')],
  ]
  const [part] = unstorable.find(([, refused]) => refused) ?? []
  if (part !== undefined) throw queueErrors.QUEUE_INVALID_JOB(queue, `its ${part} has ${unstorableText}`)
  if ('repeat' in options && options.repeat !== undefined) {
    throw queueErrors.QUEUE_INVALID_JOB(
      queue,
      'the option "repeat" no longer exists and would add the job once. Use schedule(queue, id, { every } or { pattern }, template)',
    )
  }
}

function jsonOf(queue: string, data: unknown): string {
  try {
    const json = JSON.stringify(data) as string | undefined
    if (json !== undefined || data === undefined) return json ?? ''
  } catch (error) {
    throw queueErrors.QUEUE_INVALID_JOB(queue, `its data cannot be written as JSON: ${messageOf(error)}`)
  }
  throw queueErrors.QUEUE_INVALID_JOB(queue, `its data is a ${typeof data}, which cannot be written as JSON`)
}

/** Why a value cannot be stored as the result of a job on every backend; undefined: it can. Pure. */
export function resultFault(value: unknown): string | undefined {
  try {
    const json = JSON.stringify(value) as string | undefined
    return json === undefined || isStorableJson(json) ? undefined : `it has ${unstorableText}`
  } catch (error) {
    return `it cannot be written as JSON: ${messageOf(error)}`
  }
}

/** Text that every store can keep: without NUL and halves of surrogate pairs. */
export function isStorableText(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text)
}

const unstorableText =
  'the character NUL or half of a surrogate pair, which not every store can keep. Remove it, or encode the text as base64'

/** The escapes that JSON.stringify makes of such characters, but not the same six characters behind an escaped backslash. */
function isStorableJson(json: string): boolean {
  const suspect = json.includes('\\u0000') || json.includes('\\ud')
  return !(suspect && /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json))
}
