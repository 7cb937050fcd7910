import type { Context } from 'koa'
import { announcesBody, captureBody, defineRoute, type Route, requestIdOf, ZinError } from 'zin'
import { batchRequest, edgeResponse, statementRequest } from './schema.js'
import { type EdgeHandler, edgePaths, pathPrefix } from './worker/handler.js'
import type { EdgeRequest } from './worker/request.js'

const summaries = {
  query: 'Run a reading statement through the edge proxy',
  queryOne: 'Read one row through the edge proxy',
  exec: 'Run a writing statement through the edge proxy',
  batch: 'Run statements in one transaction through the edge proxy',
  statement: 'Run a registered statement through the edge proxy',
} as const

/** Routes of the edge proxy. The handler itself checks signatures, bodies and limits, as it does at the edge. */
export function edgeProxyRoutes(handle: () => EdgeHandler): readonly Route[] {
  return edgePaths.map((name) =>
    defineRoute({
      method: 'POST',
      path: `${pathPrefix}${name}`,
      summary: summaries[name],
      description: 'Requests are signed with the shared secret of the proxy (zin/signer). For servers, not for browsers.',
      bodyType: 'none',
      bodyLimit: Number.MAX_SAFE_INTEGER,
      documented: { body: name === 'batch' ? batchRequest : statementRequest },
      response: { 200: edgeResponse },
      handler: async (ctx) => {
        const { status, headers, body } = await handle()(requestOf(ctx as unknown as Context), requestIdOf(ctx as unknown as Context))
        ctx.status = status
        ctx.set({ ...headers })
        ctx.body = body
        return undefined
      },
    }),
  )
}

function requestOf(ctx: Context): EdgeRequest {
  const mark = ctx.originalUrl.indexOf('?')
  const search = mark < 0 ? '' : ctx.originalUrl.slice(mark)
  return {
    method: ctx.method,
    pathname: mark < 0 ? ctx.originalUrl : ctx.originalUrl.slice(0, mark),
    search: search === '?' ? '' : search,
    headers: ctx.req.rawHeaders,
    body: (limit) => bodyOf(ctx, limit),
  }
}

async function bodyOf(ctx: Context, limit: number): Promise<Uint8Array | undefined> {
  if (!announcesBody(ctx.req)) return new Uint8Array(0)
  try {
    return await captureBody(ctx, limit)
  } catch (error) {
    if (error instanceof ZinError && error.code === 'PAYLOAD_TOO_LARGE') return undefined
    throw error
  }
}
