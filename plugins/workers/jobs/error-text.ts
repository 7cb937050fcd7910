// Also runs in the threads and processes of processors, so it must not import heavy modules.

/** Maximum length of the texts of an error that are stored, logged and sent between processes, in characters. */
export const maxMessage = 8 * 1024
export const maxStack = 32 * 1024

/** NUL and lone surrogates. */
const unstorable = /\0|\p{Surrogate}/gu

/** Maximum number of causes that are logged. */
const maxCauses = 3

/** Whether a thrown value is an error; errors of another thread or realm and error-like objects count too. */
export function isErrorLike(thrown: unknown): thrown is Error {
  return (
    thrown instanceof Error || (typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string')
  )
}

/** The text of a thrown value. */
export function thrownText(thrown: unknown): string {
  try {
    return String(isErrorLike(thrown) ? thrown.message : thrown)
  } catch {
    return 'a value that cannot be converted to text was thrown'
  }
}

/** Makes a text storable in every store: at most `max` characters, plus a note of how many are omitted. */
export function clip(text: string, max: number): string {
  const cut = text.length > max ? `${text.slice(0, max)}… (${text.length - max} more characters)` : text
  return cut.replace(unstorable, '\uFFFD')
}

/**
 * Converts a thrown value to an error that every store accepts; BullMQ lets a job that failed with any other value stall. An error with
 * short, storable texts is returned unchanged.
 */
export function storable(thrown: unknown): Error {
  try {
    if (!(thrown instanceof Error)) return copyOf(thrown)
    const { message, stack } = thrown
    const fine =
      typeof message === 'string' && clip(message, maxMessage) === message && (stack === undefined || clip(stack, maxStack) === stack)
    return fine ? thrown : copyOf(thrown)
  } catch {
    return new Error('the processor threw a value that cannot be read')
  }
}

/** An error as it is logged: its truncated texts, its code and a few causes. Other fields are omitted because they may contain anything. */
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
  // The stack of the copy itself would be misleading.
  copy.stack = typeof stack === 'string' ? clip(stack, maxStack) : `${copy.name}: ${copy.message}`
  return typeof code === 'string' || typeof code === 'number' ? Object.assign(copy, { code }) : copy
}
