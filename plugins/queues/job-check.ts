import type { JobsOptions } from 'bullmq'
import { messageOf } from 'zin'
import { queueErrors } from './errors.js'

/** Throws when a job could not be stored alike on every backend, or is too large. Pure. */
export function checkJob(queue: string, jobName: string, data: unknown, options: JobsOptions, maxBytes: number): void {
  const json = jsonOf(queue, data)
  const bytes = Buffer.byteLength(json)
  if (bytes > maxBytes) throw queueErrors.PAYLOAD_TOO_LARGE(queue, bytes, maxBytes)
  if (hasNul(json) || jobName.includes('\0') || options.jobId?.includes('\0')) {
    throw queueErrors.QUEUE_INVALID_JOB(
      queue,
      'its name, id or data contain the character NUL, which not every store can keep. Remove it, or encode the text as base64',
    )
  }
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

/** `\u0000` of JSON, but not the six characters behind an escaped backslash. */
function hasNul(json: string): boolean {
  return json.includes('\\u0000') && /(?<!\\)(?:\\\\)*\\u0000/.test(json)
}
