/** The edge SQL proxy as a fetch handler, for workerd and any other runtime with the Fetch API. Has no dependencies. */

import { WireError } from 'zin/plugins/sql-wire'
import { bindingName, EdgeConfigError, type EdgeSettings, readConfig } from './config.js'
import { type EdgeBinding, isEdgeBinding } from './d1.js'
import { createHandler, type EdgeHandler, errorResponse } from './handler.js'
import { type EdgeResponse, fromFetch } from './request.js'
import { timedDatabase } from './timed-database.js'

export type { EdgeSettings } from './config.js'
export { EdgeConfigError } from './config.js'
export type { EdgeBinding, EdgeResult, EdgeStatement, EdgeValue } from './d1.js'

/** A proxy in front of one database. */
export interface EdgeProxy {
  /** Handles a request. Never rejects. */
  fetch(request: Request): Promise<Response>
}

/** Environment of a worker: settings and the D1 binding. */
export type EdgeEnv = EdgeSettings & Readonly<Record<string, unknown>>

export interface EdgeWorker {
  fetch(request: Request, env: EdgeEnv): Promise<Response>
}

/**
 * Creates a proxy in front of a D1-style binding. Rejects with an {@link EdgeConfigError} that names an invalid setting.
 *
 * @example
 * import { createEdgeProxy, type EdgeBinding } from 'zin/edge'
 *
 * export async function serve(incoming: Request, binding: EdgeBinding, secret: string): Promise<Response> {
 *   const proxy = await createEdgeProxy({ EDGE_REMOTE_SECRET: secret, EDGE_REMOTE_MODE: 'sql' }, binding)
 *   return proxy.fetch(incoming)
 * }
 */
export async function createEdgeProxy(settings: EdgeSettings, binding: EdgeBinding): Promise<EdgeProxy> {
  const handle = createHandler({ db: timedDatabase(binding), config: await readConfig(settings) })
  return { fetch: async (request) => toFetch(await handle(fromFetch(request))) }
}

/**
 * Creates a worker that reads settings and the binding from its environment. If they are invalid, it responds 503 CONFIG_ERROR, naming them.
 *
 * @example
 * import { edgeWorker } from 'zin/edge'
 *
 * export default edgeWorker()
 */
export function edgeWorker(): EdgeWorker {
  const handlers = new WeakMap<EdgeEnv, Promise<EdgeHandler>>()
  const handlerFor = (env: EdgeEnv): Promise<EdgeHandler> => {
    const known = handlers.get(env)
    if (known !== undefined) return known
    const made = handlerOf(env)
    handlers.set(env, made)
    return made
  }
  return {
    async fetch(request, env) {
      try {
        const handle = await handlerFor(env)
        return toFetch(await handle(fromFetch(request)))
      } catch (error) {
        if (!(error instanceof EdgeConfigError)) throw error
        console.error(`${error.code}: ${error.message}`)
        return toFetch(errorResponse(new WireError('CONFIG_ERROR', error.message), crypto.randomUUID()))
      }
    },
  }
}

async function handlerOf(env: EdgeEnv): Promise<EdgeHandler> {
  const name = bindingName(env)
  const db = env[name]
  if (!isEdgeBinding(db)) throw new EdgeConfigError(`The worker has no D1 binding "${name}"; EDGE_BINDING sets its name`)
  const onError = (error: WireError, requestId: string): void =>
    console.error(JSON.stringify({ requestId, code: error.code, cause: error.cause instanceof Error ? error.cause.message : undefined }))
  return createHandler({ db: timedDatabase(db), config: await readConfig(env), onError })
}

function toFetch({ status, headers, body }: EdgeResponse): Response {
  return new Response(body, { status, headers })
}

export default edgeWorker()
