import {
  type BatchResult,
  errorBody,
  errorHeaders,
  parseBatch,
  parseJson,
  parseStatement,
  type ResultMeta,
  type StatementResult,
  WireError,
} from 'zin/plugins/sql-wire'
import { createVerifier, type Verified } from './auth.js'
import type { EdgeConfig } from './config.js'
import { createExecutor } from './executor.js'
import { tooManyBytes, wireErrorOf } from './failures.js'
import { edgeLimits } from './limits.js'
import { type EdgeRequest, type EdgeResponse, headerOf } from './request.js'
import { sweepTables } from './tables.js'
import { batchTasks, singleTask, type Task } from './tasks.js'
import type { TimedDatabase } from './timed-database.js'

/** The last segment of the path. */
export type EdgePath = 'query' | 'queryOne' | 'exec' | 'batch' | 'statement'

export const edgePaths: readonly EdgePath[] = ['query', 'queryOne', 'exec', 'batch', 'statement']
export const pathPrefix = '/svc/edge/'

export interface HandlerParts {
  readonly db: TimedDatabase
  readonly config: EdgeConfig
  /** ms since 1970. Default: the system clock. */
  readonly now?: () => number
  /** Called for server errors (status 500 and above); never receives values or secrets. */
  readonly onError?: (error: WireError, requestId: string) => void
}

/** Handles requests for the five paths. Never rejects. */
export type EdgeHandler = (request: EdgeRequest, requestId?: string) => Promise<EdgeResponse>

/** Time between sweeps of expired nonces and receipts, in ms. */
const sweepMs = 60_000

/** Creates the handler of the edge proxy, which is the same for every server. */
export function createHandler({ db, config, now = Date.now, onError }: HandlerParts): EdgeHandler {
  const { verify } = createVerifier(config)
  const executor = createExecutor({ db, config, now })
  let swept = now()

  const respond = async (path: EdgePath, request: EdgeRequest, requestId: string): Promise<string> => {
    const started = now()
    const caller = await verify(request, now())
    const json = jsonOf(request, caller)
    const meta = (): ResultMeta => ({ requestId, durationMs: now() - started })
    if (path === 'batch') {
      const parsed = parseBatch(json, edgeLimits)
      const tasks = batchTasks(parsed, config, caller.keyId)
      const results = await executor.run(tasks, parsed.options, caller, request.pathname)
      const replayed = results.some((result) => result.meta.replayed === true) ? { replayed: true } : {}
      return textOf({ ok: true, results, committed: true, meta: { ...replayed, ...meta() } } satisfies BatchResult, tasks)
    }
    const parsed = parseStatement(json, edgeLimits)
    const task = singleTask(parsed, path, config, caller.keyId)
    const [result] = (await executor.run([task], parsed.options, caller, request.pathname)) as readonly [StatementResult]
    return textOf({ ...result, meta: { ...result.meta, ...meta() } }, [task])
  }

  const sweep = (): void => {
    if (now() - swept < sweepMs) return
    swept = now()
    // A failed sweep is repeated after the usual time, an incomplete one with the next request.
    void sweepTables(db, swept, edgeLimits.receiptMs).then(
      (more) => {
        if (more) swept = 0
      },
      () => undefined,
    )
  }

  return async (request, requestId = crypto.randomUUID()) => {
    try {
      const body = await respond(pathOf(request), request, requestId)
      sweep()
      return response(200, body, requestId)
    } catch (thrown) {
      const error = wireErrorOf(thrown, config.mode)
      if (error.status >= 500) onError?.(error, requestId)
      return errorResponse(error, requestId)
    }
  }
}

/** Returns the response for an error. */
export function errorResponse(error: WireError, requestId: string): EdgeResponse {
  const allow: Readonly<Record<string, string>> = error.code === 'METHOD_NOT_ALLOWED' ? { allow: 'POST' } : {}
  return response(error.status, JSON.stringify(errorBody(error, requestId)), requestId, { ...errorHeaders(error), ...allow })
}

function response(status: number, body: string, requestId: string, headers: Readonly<Record<string, string>> = {}): EdgeResponse {
  const own = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', 'x-request-id': requestId }
  // The date helps clients whose clock is wrong.
  return { status, body, headers: { ...own, date: new Date().toUTCString(), ...headers } }
}

/** Throws NOT_FOUND, METHOD_NOT_ALLOWED, or MISDIRECTED for requests from browsers. */
function pathOf(request: EdgeRequest): EdgePath {
  const { method, pathname } = request
  const path = edgePaths.find((name) => pathname === `${pathPrefix}${name}`)
  if (path === undefined)
    throw new WireError('NOT_FOUND', `The edge proxy has the paths ${edgePaths.map((name) => pathPrefix + name).join(', ')}`)
  if (method !== 'POST') throw new WireError('METHOD_NOT_ALLOWED', 'The edge proxy accepts only POST')
  const isPage = ['origin', 'sec-fetch-site'].some((name) => headerOf(request, name) !== undefined)
  if (isPage) throw new WireError('MISDIRECTED', 'The edge proxy is for servers, not for browsers')
  return path
}

function jsonOf(request: EdgeRequest, { body }: Verified): unknown {
  const type = headerOf(request, 'content-type') ?? ''
  if (!/^application\/json\s*(;\s*charset=("?)utf-8\2\s*)?$/i.test(type))
    throw new WireError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON in UTF-8 (Content-Type: application/json)')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw new WireError('INVALID_JSON', 'The body is not UTF-8')
  }
  return parseJson(text)
}

/** Throws RESULT_TOO_LARGE for a read; results of a write are returned whatever their size. */
function textOf(body: unknown, tasks: readonly Task[]): string {
  const text = JSON.stringify(body)
  const { maxResponseBytes } = edgeLimits
  if (text.length * 3 <= maxResponseBytes || tasks.some(({ statement }) => statement.kind === 'write')) return text
  const bytes = new TextEncoder().encode(text).length
  if (bytes <= maxResponseBytes) return text
  throw tooManyBytes(bytes)
}
