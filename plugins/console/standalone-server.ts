import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type CommandCredential, type CommandRequest, ZinError } from 'zin'
import type { Asset } from './assets.js'
import { consoleErrors } from './errors.js'
import { assetResponse } from './send-asset.js'
import { type AccessRules, refusalOf, wrongName } from './standalone-access.js'

export interface StandaloneOptions extends AccessRules {
  readonly host: string
  readonly port: number
  /** Base URL of the app. */
  readonly target: () => string
  /** Name of the app, so that no other app accepts the requests. */
  readonly appName: string
  readonly index: () => Promise<Asset>
  readonly file: (name: string) => Promise<Asset>
  /** Called after a link was opened and is no longer valid. */
  readonly onLinkUsed?: () => void
  /** Returns the credential for a request to the app. */
  readonly authorize: (request: CommandRequest) => Promise<CommandCredential | undefined>
  /** Called with an unexpected error, whose text is not part of the response. @param request method and path, without the query. */
  readonly onError: (error: unknown, request: string) => void
}

export interface StandaloneServer {
  readonly url: string
  close(): Promise<void>
}

const mostBody = 1024 * 1024
const drainMs = 2_000
/** Paths forwarded to the app. */
const forwarded = /^\/(api\/|graphql$|health(\/|$))/
/** Request headers that are forwarded, and response headers that are returned. */
const requestHeaders = ['accept', 'content-type']
const responseHeaders = ['content-type', 'content-disposition', 'cache-control', 'retry-after', 'x-content-type-options', 'x-request-id']

/** Serves the console on its own port and forwards its API requests to the app with a credential that the browser never receives. */
export async function startStandalone(options: StandaloneOptions): Promise<StandaloneServer> {
  const server = createServer((req, res) => {
    serve(options, req, res).catch((error: unknown) => sendError(options, req, res, error))
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 30_000
  server.listen(options.port, options.host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw consoleErrors.CONSOLE_ADDRESS(options.host, options.port, error.code === 'EADDRINUSE' ? 'the port is in use' : error.message)
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`, close: () => close(server) }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const hard = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearTimeout(hard)
}

async function serve(options: StandaloneOptions, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const given = req.url ?? '/'
  if (!URL.canParse(given, 'http://console')) throw consoleErrors.CONSOLE_BAD_URL()
  const { pathname, search, searchParams } = new URL(given, 'http://console')
  const token = pathname === '/console' ? searchParams.get('token') : null
  if (token !== null && options.links !== undefined) return openLink(options, req, res, token)
  const refusal = refusalOf(req, options)
  if (refusal !== undefined) throw refusal
  if (pathname === '/') {
    res.writeHead(302, { location: '/console' }).end()
    return
  }
  if (forwarded.test(pathname)) return forward(options, req, res, `${pathname}${search}`)
  const file = /^\/console\/assets\/([^/]+)$/.exec(pathname)?.[1]
  if (file !== undefined) return sendAsset(req, res, await options.file(file), 'by its content')
  if (pathname !== '/console' && !pathname.startsWith('/console/')) throw consoleErrors.CONSOLE_FILE_NOT_FOUND(pathname)
  return sendAsset(req, res, await options.index(), 'by its place')
}

/** Exchanges the token of a link for a cookie and redirects to a URL without the token. */
function openLink({ auth, links, onLinkUsed }: StandaloneOptions, req: IncomingMessage, res: ServerResponse, token: string): void {
  const wrong = wrongName(req, auth)
  if (wrong !== undefined) throw wrong
  const cookie = links?.exchange(token, req)
  if (cookie === undefined) throw consoleErrors.CONSOLE_LINK_REQUIRED()
  res.writeHead(303, { location: '/console', 'set-cookie': cookie, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).end()
  onLinkUsed?.()
}

function sendAsset(req: IncomingMessage, res: ServerResponse, asset: Asset, named: Parameters<typeof assetResponse>[2]): void {
  const { body, headers, status } = assetResponse(asset, req.headers, named)
  res.writeHead(status, headers).end(req.method === 'HEAD' ? undefined : body)
}

async function forward(options: StandaloneOptions, req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
  const method = req.method ?? 'GET'
  // Registered first: a client may disconnect while the credential is created.
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  const body = await bodyOf(req)
  const url = `${options.target()}${path}`
  const picked = requestHeaders.flatMap((name) => {
    const value = req.headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  const headers: Record<string, string> = {
    ...Object.fromEntries(picked),
    'x-requested-with': 'zin-console',
    'x-zin-app': encodeURIComponent(options.appName),
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  }
  const credential = await options.authorize({ method, url, body, contentType: headers['content-type'] })
  const send = url.startsWith('https:') ? httpsRequest : httpRequest
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    send(url, { method, headers: { ...headers, ...credential?.headers }, signal: gone.signal, agent: false }, resolve)
      .on('error', (error) => reject(consoleErrors.CONSOLE_APP_UNREACHABLE(error)))
      .end(body)
  })
  for (const name of responseHeaders) {
    const value = response.headers[name]
    if (value !== undefined) res.setHeader(name, value)
  }
  res.writeHead(response.statusCode ?? 502)
  response.on('error', () => res.destroy())
  response.pipe(res)
}

async function bodyOf(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of req) {
    length += (chunk as Buffer).length
    // The rest of a body that is too large is read and discarded: a client that is still sending would miss the response.
    if (length <= mostBody) chunks.push(chunk as Buffer)
  }
  if (length > mostBody) throw consoleErrors.CONSOLE_BODY_TOO_LARGE(mostBody)
  return length === 0 ? undefined : Buffer.concat(chunks).toString('utf8')
}

function sendError({ onError }: StandaloneOptions, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  // The client has disconnected while it was sending.
  if (error === req.errored) return
  const known = error instanceof ZinError && error.status !== 500 ? error : consoleErrors.CONSOLE_INTERNAL_ERROR()
  if (known !== error) onError(error, `${req.method} ${new URL(req.url ?? '/', 'http://console').pathname}`)
  if (res.headersSent) {
    res.destroy()
    return
  }
  const body = JSON.stringify({ error: known.title, message: known.message, code: known.code })
  res.writeHead(known.status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...known.headers })
  res.end(body)
}
