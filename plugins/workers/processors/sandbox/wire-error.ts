// Also runs in the threads and processes of processors: it may import nothing that is heavy.
import { clip, isErrorLike, maxMessage, maxStack, thrownText } from '../../jobs/error-text.js'

/** Classes of BullMQ that say what becomes of a job rather than what went wrong. */
export const outcomes = ['UnrecoverableError', 'DelayedError', 'WaitingError', 'WaitingChildrenError', 'RateLimitError'] as const
export type Outcome = (typeof outcomes)[number]

/** An error on its way between a processor and the app. */
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
    name: typeof thrown.name === 'string' ? thrown.name : 'Error',
    message,
    ...(typeof thrown.stack === 'string' ? { stack: clip(thrown.stack, maxStack) } : {}),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(outcome === undefined ? {} : { outcome }),
  }
}

/** An error that says the same; of no special class. */
export function fromWire({ name, message, stack, code }: WireError): Error {
  const error = new Error(message)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  return code === undefined ? error : Object.assign(error, { code })
}

/** By names, because a processor may have its own copy of BullMQ; also of a class that extends one. */
function outcomeOf(error: Error): Outcome | undefined {
  const names = [error.name]
  for (let proto: unknown = Object.getPrototypeOf(error); proto !== null; proto = Object.getPrototypeOf(proto)) {
    names.push(String((proto as { constructor?: { name?: unknown } }).constructor?.name))
  }
  return outcomes.find((outcome) => names.includes(outcome))
}
