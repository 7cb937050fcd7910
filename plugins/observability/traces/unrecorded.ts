import { type Context, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { requestContext } from 'zin'

/** A trace that is not recorded, but goes on to whatever is called. Most requests call nothing, so it is made when it is asked for. */
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

/** Gives the current request its trace; false outside of requests. */
export function holdInRequest(own: UnrecordedTrace): boolean {
  const request = requestContext() as Holder | undefined
  if (request === undefined) return false
  request[unrecorded] = own
  return true
}

/** The trace of the current request, when it is not recorded. */
export function heldByRequest(): UnrecordedTrace | undefined {
  return (requestContext() as Holder | undefined)?.[unrecorded]
}
