import { type Context, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { requestContext } from 'zin'

/** A trace that is not recorded but still propagated to calls. Its context is created on first use, because most requests make no calls. */
export class UnrecordedTrace {
  readonly #make: () => SpanContext
  #context: Context | undefined

  constructor(make: () => SpanContext) {
    this.#make = make
  }

  get context(): Context {
    this.#context ??= trace.setSpanContext(ROOT_CONTEXT, this.#make())
    return this.#context
  }
}

const unrecorded = Symbol('zin.unrecorded')

interface Holder {
  [unrecorded]?: UnrecordedTrace
}

/** Stores a trace in the current request; returns false outside of requests. */
export function holdInRequest(own: UnrecordedTrace): boolean {
  const request = requestContext() as Holder | undefined
  if (request === undefined) return false
  request[unrecorded] = own
  return true
}

/** Returns the trace of the current request if it is unrecorded. */
export function heldByRequest(): UnrecordedTrace | undefined {
  return (requestContext() as Holder | undefined)?.[unrecorded]
}
