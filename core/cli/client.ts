import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { messageOf } from '../errors.js'
import type { CommandCredential, CommandRequest } from '../hooks/catalogue.js'
import type { AppClient, CommandShape, Printer } from '../host/command.js'
import { runningAddress } from '../host/run-file.js'
import type { HostView } from '../host/view.js'
import { type AppResponse, bodyOf, refusal } from './client-refusal.js'
import { cliErrors, UsageError } from './errors.js'

export interface AppClientOptions {
  readonly app: HostView['app']
  /** `--url`, `--host` and `--port`. */
  readonly options: Readonly<Record<string, unknown>>
  /** Returns the credential for a request; undefined if no plugin provides one. */
  readonly authorize: (request: CommandRequest) => Promise<CommandCredential | undefined>
  /** Commands that replace the routes they call in error messages of the app. */
  readonly commands?: readonly CommandShape[]
  /** Shows what a slow command is waiting for. */
  readonly print: Pick<Printer, 'waiting'>
  /** Aborts requests on Ctrl-C. */
  readonly signal: AbortSignal
  /** Deadline of a request in ms. Default 10000. */
  readonly timeoutMs?: number
}

/**
 * Creates the HTTP client for the running app. Its address is `--url`, or `--host` and `--port`, or the address that the app of this folder
 * recorded when it started, or the one in its configuration.
 */
export async function createAppClient(given: AppClientOptions): Promise<AppClient> {
  const baseUrl = await findApp(given)
  const { authorize, commands = [] } = given
  return {
    baseUrl,
    authorize,
    async request<T>({
      method,
      path,
      query = {},
      body,
      timeoutMs = given.timeoutMs ?? 10_000,
      waitingFor = `the app on ${baseUrl}`,
    }: Parameters<AppClient['request']>[0]): Promise<T> {
      if (!path.startsWith('/')) throw new TypeError(`the path "${path}" must begin with /`)
      const url = `${baseUrl}${pathWith(path, query)}`
      const text = body === undefined ? undefined : JSON.stringify(body)
      // `x-requested-with` proves that no web page of another origin sent this.
      const headers: Record<string, string> = {
        accept: 'application/json',
        'x-requested-with': 'zin-cli',
        // Another app may be listening there and would handle the request as its own.
        'x-zin-app': encodeURIComponent(given.app.name),
      }
      if (text !== undefined)
        Object.assign(headers, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) })
      const credential = await authorize({ method, url, body: text, contentType: headers['content-type'] })
      Object.assign(headers, credential?.headers)
      const response = await given.print.waiting(
        waitingFor,
        send(url, { method, headers, body: text, baseUrl, signal: given.signal, timeoutMs }),
      )
      if (response.status >= 200 && response.status < 300) return bodyOf(response.text) as T
      throw refusal({ response, request: `${method} ${path}`, baseUrl, appName: given.app.name, credential, commands })
    },
  }
}

async function findApp({ app, options }: AppClientOptions): Promise<string> {
  const { url, host, port } = options
  if (typeof url === 'string') return checkUrl(url)
  const running = host === undefined && port === undefined ? await runningAddress(app.dataDir) : undefined
  const at = running ?? app.bind
  const found = `http://${reachable(typeof host === 'string' ? host : at.host)}:${typeof port === 'number' ? port : at.port}`
  const parsed = URL.canParse(found) ? new URL(found) : undefined
  if (parsed?.href !== `${parsed?.origin}/`) throw new UsageError('option --host must be a host name or an IP address')
  return found
}

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw new UsageError('option --url must be an address like http://127.0.0.1:7777, without user, query or fragment')
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** A wildcard bind is reached over loopback; an IPv6 address needs brackets. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

function pathWith(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${search}`
}

interface SendOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly baseUrl: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

async function send(url: string, options: SendOptions): Promise<AppResponse> {
  const { method, headers, body, baseUrl, timeoutMs } = options
  const deadline = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([options.signal, deadline])
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { method, headers, signal, agent: false }, resolve).on('error', reject).end(body)
    })
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }
  } catch (error) {
    if (options.signal.aborted) throw cliErrors.ZIN_ABORTED('stopped', error)
    if (deadline.aborted) throw cliErrors.ZIN_APP_TIMEOUT(baseUrl, method, timeoutMs, error)
    const { code = '' } = error as NodeJS.ErrnoException
    const reason = code === 'ECONNREFUSED' ? '' : ` (${code || messageOf(error)})`
    throw cliErrors.ZIN_APP_UNREACHABLE(baseUrl, reason, error)
  }
}
