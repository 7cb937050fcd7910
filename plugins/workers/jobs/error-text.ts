// Also runs in the threads and processes of processors: it may import nothing that is heavy.

/** Longest texts of an error that are stored, logged and sent between processes, in characters. */
export const maxMessage = 8 * 1024
export const maxStack = 32 * 1024

/** The character NUL, and halves of characters beyond the first 65,536. */
const unstorable = /\0|\p{Surrogate}/gu

/** How many errors of a chain of causes are logged. */
const maxCauses = 3

/** Errors of another thread or realm are errors as well, and so are objects that only look like one. */
export function isErrorLike(thrown: unknown): thrown is Error {
  return (
    thrown instanceof Error || (typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string')
  )
}

/** The text of anything that was thrown. */
export function thrownText(thrown: unknown): string {
  try {
    return String(isErrorLike(thrown) ? thrown.message : thrown)
  } catch {
    return 'something that has no text was thrown'
  }
}

/** A text that every store takes, of at most `max` characters and a note of how many are left out. */
export function clip(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max)}… (${text.length - max} more characters)` : text
  return cut.replace(unstorable, '\uFFFD')
}

/**
 * What was thrown as an error that every store takes: BullMQ leaves a job that failed with anything else to stall. An error with short
 * and clean texts is given back as it is.
 */
export function storable(thrown: unknown): Error {
  try {
    if (!(thrown instanceof Error)) return copyOf(thrown)
    const { message, stack } = thrown
    const fine =
      typeof message === 'string' && clip(message, maxMessage) === message && (stack === undefined || clip(stack, maxStack) === stack)
    return fine ? thrown : copyOf(thrown)
  } catch {
    return new Error('the processor threw something that cannot be read')
  }
}

/** An error as it is logged: its bounded texts, its code and a few causes, without other fields, which may hold anything. */
export function loggable(error: Error, left = maxCauses): Error {
  const copy = copyOf(error)
  if (left > 0 && isErrorLike(error.cause)) copy.cause = loggable(error.cause, left - 1)
  return copy
}

function copyOf(thrown: unknown): Error {
  const copy = new Error(clip(thrownText(thrown), maxMessage))
  const { name, stack, code } = (isErrorLike(thrown) ? thrown : {}) as {
    readonly name?: unknown
    readonly stack?: unknown
    readonly code?: unknown
  }
  if (typeof name === 'string') Object.defineProperty(copy, 'name', { value: name.slice(0, 100), configurable: true, writable: true })
  // Not where this copy was made.
  copy.stack = typeof stack === 'string' ? clip(stack, maxStack) : `${copy.name}: ${copy.message}`
  return typeof code === 'string' || typeof code === 'number' ? Object.assign(copy, { code }) : copy
}
