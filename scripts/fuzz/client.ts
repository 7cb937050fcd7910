import { once } from 'node:events'
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage, maxHeaderSize } from 'node:http'
import { createHeaders } from '../../core/signing/client.js'
import type { FuzzRequest } from './requests.js'

/** A response; `body` has at most its first 64 KiB. */
export interface FuzzResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Sends requests over keep-alive connections, some of them signed by a device. */
export interface Client {
  /** Rejects if no response starts within 30 s, or if the connection breaks before. */
  send(request: FuzzRequest): Promise<FuzzResponse>
  close(): void
}

export interface Account {
  readonly email: string
  readonly password: string
}

interface Session {
  readonly jwt: string
  readonly deviceId: string
  readonly deviceSecret: string
}

const waitMs = 30_000
const keptBytes = 65_536

/** Creates a client with its own device. It logs in again if a signed request ended its session. */
export async function createClient(url: string, account: Account): Promise<Client> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const logIn = async (): Promise<Session> => {
    const body = JSON.stringify(account)
    const headers = { 'content-type': 'application/json' }
    const response = await exchange(url, agent, { method: 'POST', target: '/auth/login', headers, body, signed: false })
    if (response.status !== 200) throw new Error(`the fuzzer could not log in: ${response.status} ${response.body}`)
    return JSON.parse(response.body) as Session
  }
  let session = await logIn()
  const signed = async (request: FuzzRequest): Promise<FuzzRequest> => {
    const { method, target } = request
    const proof = await createHeaders({
      method,
      url: `${url}${target}`,
      body: bytesOf(request) ?? '',
      keyId: session.deviceId,
      secret: session.deviceSecret,
    })
    return { ...request, headers: { authorization: `Bearer ${session.jwt}`, ...proof, ...request.headers } }
  }
  const me: FuzzRequest = { method: 'GET', target: '/api/me', headers: {}, signed: true }
  return {
    async send(request) {
      if (!request.signed) return exchange(url, agent, request)
      const response = await exchange(url, agent, await signed(request))
      const ended = request.target.startsWith('/auth/') && (await exchange(url, agent, await signed(me))).status !== 200
      if (ended) session = await logIn()
      return response
    },
    close: () => agent.destroy(),
  }
}

/**
 * The response to headers above the limit of Node's parser, or to a body that the app refuses because of its `Expect`. The app sends it while
 * the client still writes, so that it can be lost.
 */
const lost: FuzzResponse = {
  status: 431,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: 'Request header fields too large', message: 'The connection was closed', code: 'CLOSED' }),
}

async function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

function headerBytes(request: ClientRequest): number {
  return Buffer.byteLength(request.path) + Buffer.byteLength(JSON.stringify(request.getHeaders()))
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

const bytesOf = ({ body, encoding }: FuzzRequest): Buffer | undefined =>
  body === undefined ? undefined : Buffer.from(body, encoding ?? 'utf8')

async function exchange(url: string, agent: Agent, sent: FuzzRequest): Promise<FuzzResponse> {
  const { method, target, headers, chunked } = sent
  const { hostname, port } = new URL(url)
  const body = bytesOf(sent)
  const framed = chunked === undefined ? { 'content-length': String(body?.length) } : { 'transfer-encoding': 'chunked' }
  const length = body === undefined ? {} : framed
  const signal = AbortSignal.timeout(waitMs)
  const request = httpRequest({ hostname, port, method, path: target, agent, signal, headers: { ...headers, ...length } })
  request.end(body)
  const response = await responseOf(request).catch((error: unknown) => {
    if ((headerBytes(request) > maxHeaderSize || headers.expect !== undefined) && isClosed(error)) return undefined
    throw error
  })
  if (response === undefined) return lost
  let text = ''
  // An event stream continues until its reader disconnects.
  if (response.headers['content-type']?.startsWith('text/event-stream')) response.destroy()
  else for await (const chunk of response) text = (text + String(chunk)).slice(0, keptBytes)
  return { status: response.statusCode ?? 0, headers: response.headers, body: text }
}
