import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import type { TestContext } from 'node:test'
import type { ErrorBody, FailedRequest } from '../hooks/catalogue.js'
import { type MemoryLogger, memoryLogger } from '../log/memory-logger.js'
import type { LogLevel } from '../log/types.js'
import { systemClock } from '../util/clock.js'
import type { HttpAppOptions } from './app.js'
import { HttpApp } from './app.js'
import type { Route } from './route.js'

export interface TestApp {
  readonly app: HttpApp
  readonly log: MemoryLogger
  readonly failures: { readonly error: Error; readonly failed: FailedRequest }[]
}

/** Creates a compiled app with the given routes, which is closed when the test ends. */
export function makeApp(
  t: TestContext,
  routes: readonly Route[] = [],
  options: Partial<HttpAppOptions> & { readonly level?: LogLevel } = {},
): TestApp {
  const log = memoryLogger(options.level ?? 'info')
  const failures: TestApp['failures'] = []
  const app = new HttpApp({
    log,
    clock: systemClock,
    production: false,
    bodyLimit: 1000,
    rootDir: tmpdir(),
    trustedProxies: 0,
    allowedHosts: undefined,
    info: { title: 'test app', version: '1.2.3' },
    logRequests: false,
    onError: (error, failed) => void failures.push({ error, failed }),
    transformErrorBody: { active: false, call: async (body: ErrorBody) => body },
    requestEnd: { active: false, call: () => undefined },
    ...options,
  })
  for (const route of routes) app.addRoute('test', route)
  app.compile()
  t.after(() => app.close())
  return { app, log, failures }
}

/** Adds a summary to a route, for tests that do not need one. */
export const route = (spec: Omit<Route, 'summary'> & { readonly summary?: string }): Route => ({ summary: 'test', ...spec })

export async function listen(app: HttpApp): Promise<number> {
  return (await app.listen({ host: '127.0.0.1', port: 0 })).port
}

/** A raw connection. */
export class RawClient {
  readonly socket: Socket
  text = ''
  readonly closed: Promise<void>
  #waiting: (() => void)[] = []

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1')
      this.#wake()
    })
    socket.on('error', () => undefined)
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
    void this.closed.then(() => this.#wake())
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  send(text: string | Buffer): void {
    this.socket.write(text)
  }

  /** Waits until the received text matches. Fails if the connection ends before that. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text)) {
      if (this.socket.destroyed) throw new Error(`the connection ended before ${pattern}; it received ${JSON.stringify(this.text)}`)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    }
    return this.text
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

/** Sends bytes on a new connection and returns everything received until the server closes it. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const client = await RawClient.open(port)
  client.send(bytes)
  await client.closed
  return client.text
}

/** Builds the text of a request with `Host` and `Connection: close`. */
export function rawRequest(line: string, headers: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', body].join('\r\n')
}

export const statusOf = (response: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1])
