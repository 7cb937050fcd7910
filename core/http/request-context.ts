import { AsyncLocalStorage } from 'node:async_hooks'
import type { RouteInfo } from './route.js'

/** Data of the current request. */
export interface RequestContext {
  readonly requestId: string
  /** Set by the middleware that authenticated the caller; the JWT plugin sets it to `sub`. */
  userId: string | undefined
  /** The matched route, from the route match on. */
  route: RouteInfo | undefined
  /** W3C id of the sampled trace that the request belongs to. Set by the plugin that traces it. */
  traceId?: string | undefined
}

// One storage serves every app of the process: each request carries its own store.
const storage = new AsyncLocalStorage<RequestContext>()

/** The current request; `undefined` outside of requests, in probes and in some requests of routes with `context: false`. */
export function requestContext(): RequestContext | undefined {
  return storage.getStore()
}

/** Runs `task` with `context` as its request. */
export function runInRequest<T>(context: RequestContext, task: () => T): T {
  return storage.run(context, task)
}
