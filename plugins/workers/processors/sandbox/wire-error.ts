// Also runs in the threads and processes of processors: keep its imports light.
import { clip, isErrorLike, maxMessage, maxStack, thrownText } from '../../jobs/error-text.js'

/** BullMQ error classes that determine what happens to a job, rather than describe a failure. */
export const outcomes = ['UnrecoverableError', 'DelayedError', 'WaitingError', 'WaitingChildrenError', 'RateLimitError'] as const
export type Outcome = (typeof outcomes)[number]

/** Maximum length of a name, and of a code that is text, in characters. */
const maxName = 100

/** An error in transit between a processor and the app. */
export interface WireError {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly code?: string | number
  readonly outcome?: Outcome
}

export function toWire(thrown: unknown): WireError {
  const message = clip(thrownText(thrown), maxMessage)
  if (!isErrorLike(thrown)) return { name: 'Error', message }
  const { code } = thrown as { readonly code?: unknown }
  const outcome = outcomeOf(thrown)
  return {
    name: typeof thrown.name === 'string' ? clip(thrown.name, maxName) : 'Error',
    message,
    ...(typeof thrown.stack === 'string' ? { stack: clip(thrown.stack, maxStack) } : {}),
    ...(typeof code === 'string' ? { code: clip(code, maxName) } : typeof code === 'number' ? { code } : {}),
    ...(outcome === undefined ? {} : { outcome }),
  }
}

/** Returns the error in a message of a child, within the limits of {@link toWire}; code of the processor may have sent anything. */
export function readWireError(sent: unknown): WireError {
  const { code, message, name, outcome, stack } = (typeof sent === 'object' && sent !== null ? sent : {}) as Partial<
    Record<string, unknown>
  >
  const known = outcomes.find((one) => one === outcome)
  return {
    name: typeof name === 'string' ? clip(name, maxName) : 'Error',
    message: clip(typeof message === 'string' ? message : thrownText(sent), maxMessage),
    ...(typeof stack === 'string' ? { stack: clip(stack, maxStack) } : {}),
    ...(typeof code === 'string' ? { code: clip(code, maxName) } : typeof code === 'number' ? { code } : {}),
    ...(known === undefined ? {} : { outcome: known }),
  }
}

/** Returns a plain `Error` with the same content. */
export function fromWire({ name, message, stack, code }: WireError): Error {
  const error = new Error(message)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  return code === undefined ? error : Object.assign(error, { code })
}

/** Compares class names, because a processor may have its own copy of BullMQ. Includes subclasses. */
function outcomeOf(error: Error): Outcome | undefined {
  const names = [error.name]
  for (let proto: unknown = Object.getPrototypeOf(error); proto !== null; proto = Object.getPrototypeOf(proto)) {
    names.push(String((proto as { constructor?: { name?: unknown } }).constructor?.name))
  }
  return outcomes.find((outcome) => names.includes(outcome))
}
