import { messageOf, ZinError } from '../errors.js'

/** Whose call went wrong. */
export interface Culprit {
  readonly plugin: string
  readonly hook: string
  readonly timeoutMs: number
}

/** `ZIN_HOOK_FAILED`: a listener threw or rejected; what it threw is the `cause`. */
export function hookFailed({ plugin, hook }: Culprit, cause: Error): ZinError {
  return new ZinError('ZIN_HOOK_FAILED', `${plugin}: its listener of hook "${hook}" failed: ${cause.message}`, {
    cause,
    details: { plugin, hook },
  })
}

/** `ZIN_HOOK_TIMEOUT`: a listener did not answer in time. Its work goes on; nobody waits for it. */
export function hookTimeout({ plugin, hook, timeoutMs }: Culprit): ZinError {
  const message = `${plugin}: its listener of hook "${hook}" did not answer within ${timeoutMs} ms; make it faster or give it a longer timeoutMs`
  return new ZinError('ZIN_HOOK_TIMEOUT', message, { status: 503, details: { plugin, hook, timeoutMs } })
}

/** Whatever was thrown, as an `Error`. Never throws itself. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  try {
    return new Error(messageOf(thrown), { cause: thrown })
  } catch {
    return new Error('threw a value that has no text', { cause: thrown })
  }
}
