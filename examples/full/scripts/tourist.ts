import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { createHeaders } from 'zin/signer'
import { type RunningApp, startApp } from './start-app.js'

const home = dirname(dirname(fileURLToPath(import.meta.url)))

export interface AppRequest {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly jwt?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface AppResponse {
  readonly status: number
  readonly body: unknown
}

export interface SigningKey {
  readonly keyId: string
  readonly secret: string
}

/** A client that uses the app over HTTP, step by step. */
export interface Tourist {
  /** A setting from the environment or the app's `.env`. Throws if it is not set. */
  env(name: string): string
  send(request: AppRequest): Promise<AppResponse>
  sign(request: AppRequest, key: SigningKey): Promise<Readonly<Record<string, string>>>
  signed(request: AppRequest, key: SigningKey): Promise<AppResponse>
  /** Sends a management request: without a token, and with an RFC 9421 signature, which also covers the host. */
  operate(request: AppRequest, key: SigningKey): Promise<AppResponse>
  /** Runs `work` and prints the title with ✓ or ✗. */
  step<T>(title: string, work: () => Promise<T>): Promise<T>
  /** Registers a clean-up step, which also runs after a failure; the latest one runs first. */
  atEnd(title: string, work: () => Promise<void>): void
  /** Repeats `check` until it passes, for at most 60 s. */
  eventually(check: () => Promise<void>): Promise<void>
  /** Runs the tour and its clean-up steps; returns the exit code. */
  run(tour: (app: Tourist) => Promise<void>): Promise<number>
}

/** Starts an app, or connects to the one at BASE_URL, or at HOST and PORT from the environment or `.env`. */
export async function connect(start: boolean): Promise<Tourist> {
  const running: RunningApp | undefined = start ? await startApp(home) : undefined
  const baseUrl = running?.url ?? process.env.BASE_URL ?? baseUrlOf(setting('HOST') || '127.0.0.1', setting('PORT') || '7777')
  const lastSteps: { readonly title: string; readonly work: () => Promise<void> }[] = []

  const app: Tourist = {
    env(name) {
      const value = setting(name)
      if (!value) throw new Error(`${name} is set neither in the environment nor in ${join(home, '.env')}`)
      return value
    },
    async send({ method, path, body, jwt, headers }) {
      const response = await fetch(new URL(path, baseUrl), {
        method,
        headers: {
          ...headers,
          ...(jwt ? { authorization: `Bearer ${jwt}` } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      return { status: response.status, body: response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text }
    },
    sign: ({ method, path, body }, key) =>
      createHeaders({
        method,
        url: path,
        ...key,
        ...(body ? { body: JSON.stringify(body) } : {}),
        headerPrefix: setting('SIGNATURE_HEADER_PREFIX') || 'x-sig-',
      }),
    async signed(request, key) {
      return app.send({ ...request, headers: await app.sign(request, key) })
    },
    async operate({ method, path, body }, key) {
      const headers = await createHeaders({
        profile: 'rfc9421',
        method,
        url: new URL(path, baseUrl),
        ...key,
        ...(body ? { body: JSON.stringify(body), contentType: 'application/json' } : {}),
        // Rounded up: the signature carries whole seconds, and an app refuses requests that may predate its start.
        timestamp: Math.ceil(Date.now() / 1000) * 1000,
        headerPrefix: setting('SIGNATURE_HEADER_PREFIX') || 'x-sig-',
      })
      return app.send({ method, path, ...(body ? { body } : {}), headers })
    },
    async step(title, work) {
      try {
        const result = await work()
        console.log(`✓ ${title}`)
        return result
      } catch (error) {
        console.error(`✗ ${title}: ${messageOf(error)}`)
        throw error
      }
    },
    atEnd: (title, work) => void lastSteps.unshift({ title, work }),
    async eventually(check) {
      const until = Date.now() + 60_000
      for (;;) {
        try {
          return await check()
        } catch (error) {
          if (Date.now() > until) throw error
          await delay(50)
        }
      }
    },
    async run(tour) {
      const failed = (promise: Promise<unknown>): Promise<boolean> =>
        promise.then(
          () => false,
          () => true,
        )
      let failures = (await failed(tour(app))) ? 1 : 0
      for (const { title, work } of lastSteps) failures += (await failed(app.step(title, work))) ? 1 : 0
      if (running) failures += (await failed(app.step('the app stops on request', () => running.stop()))) ? 1 : 0
      return failures === 0 ? 0 : 1
    },
  }
  return app
}

/** An app that listens on all addresses is reached over loopback; an IPv6 address needs brackets. */
function baseUrlOf(host: string, port: string): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** Reads `.env` on every call, because the first start of the app writes the demo user's password to it. */
function setting(name: string): string | undefined {
  const file = join(home, '.env')
  return process.env[name] || (existsSync(file) ? parseEnv(readFileSync(file, 'utf8'))[name] : undefined)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}
