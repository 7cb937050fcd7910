import { messageOf, type ZinError } from '../errors.js'
import { hookErrors } from './errors.js'

/** The listener whose call failed. */
export interface Culprit {
  readonly plugin: string
  readonly hook: string
  readonly timeoutMs: number
}

/** Builds the error of a listener that threw or rejected. `cause` is the thrown value. */
export function hookFailed({ plugin, hook }: Culprit, cause: Error): ZinError {
  return hookErrors.ZIN_HOOK_FAILED(plugin, hook, cause)
}

/** Builds the error of a listener that timed out. Its work continues in the background. */
export function hookTimeout({ plugin, hook, timeoutMs }: Culprit): ZinError {
  return hookErrors.ZIN_HOOK_TIMEOUT(plugin, hook, timeoutMs)
}

/** Converts any thrown value to an `Error`. Never throws. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  try {
    return new Error(messageOf(thrown), { cause: thrown })
  } catch {
    return new Error('threw a value that has no text', { cause: thrown })
  }
}
