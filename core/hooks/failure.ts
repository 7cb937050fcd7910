import { messageOf, type ZinError } from '../errors.js'
import { hookErrors } from './errors.js'

/** The listener whose call failed. */
export interface Culprit {
  readonly plugin: string
  readonly hook: string
  readonly timeoutMs: number
}

/** A listener threw or rejected; the `cause` is the thrown value. */
export function hookFailed({ plugin, hook }: Culprit, cause: Error): ZinError {
  return hookErrors.ZIN_HOOK_FAILED(plugin, hook, cause)
}

/** A listener did not end in time. Its work continues in the background. */
export function hookTimeout({ plugin, hook, timeoutMs }: Culprit): ZinError {
  return hookErrors.ZIN_HOOK_TIMEOUT(plugin, hook, timeoutMs)
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
