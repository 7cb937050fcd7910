import { AsyncLocalStorage } from 'node:async_hooks'
import type { RouteInfo } from './route.js'

/** Data of the current request. */
export interface RequestContext {
  readonly requestId: string
  /** Set by the middleware that authenticated the caller; the JWT plugin sets it to `sub`. */
  userId: string | undefined
  /** The matched route; undefined before the route match. */
  route: RouteInfo | undefined
  /** W3C id of the trace of the request, if it is sampled. Set by the plugin that traces requests. */
  traceId?: string | undefined
}

// One storage is enough for all apps of the process: each request has its own store.
const storage = new AsyncLocalStorage<RequestContext>()

/** Returns the data of the current request; `undefined` outside of requests, in probes and in some requests of routes with `context: false`. */
export function requestContext(): RequestContext | undefined {
  return storage.getStore()
}

/** Runs `task` with `context` as the current request. */
export function runInRequest<T>(context: RequestContext, task: () => T): T {
  return storage.run(context, task)
}
