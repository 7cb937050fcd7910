import type { CommandContext, Plugin } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { type LoginOptions, login } from 'zin/plugins/login'
import { createHeaders } from 'zin/signer'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'

export const env = { APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes' }

/** The real dependencies of `login`. */
export const companions = (): Plugin[] => [database(), kv(), jwt(), bulletproof()]

export function loginHost(options: Partial<LoginOptions> = {}, given: TestHostOptions = {}): Promise<TestHost> {
  return createTestHost({ plugins: [...companions(), login(options)], env, ...given })
}

export interface Ran {
  readonly code: number | undefined
  readonly lines: readonly string[]
  readonly errors: readonly string[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  // biome-ignore lint/suspicious/noExplicitAny: the output of the command
  readonly record: any
}

/** Runs a command of the host as the CLI does. */
export async function run(host: TestHost, name: string, args: Record<string, string>, options: object = {}): Promise<Ran> {
  const entry = host.host.commands().find(({ command }) => command.name === name)
  if (entry === undefined) throw new Error(`no command ${name}`)
  const out = {
    lines: [] as string[],
    errors: [] as string[],
    rows: [] as Readonly<Record<string, unknown>>[],
    record: undefined as unknown,
  }
  const print = {
    json: false,
    line: (text = '') => void out.lines.push(text),
    error: (text: string) => void out.errors.push(text),
    table: (rows: readonly Readonly<Record<string, unknown>>[]) => void out.rows.push(...rows),
    record: (value: unknown) => {
      out.record = value
    },
  }
  const code = (await entry.command.run({ args, options, print } as unknown as CommandContext)) ?? undefined
  return { code, ...out }
}

/** Creates a user and returns the password. */
export async function addUser(host: TestHost, email: string, role = 'user'): Promise<{ readonly id: string; readonly password: string }> {
  return (await run(host, 'user:add', { email }, { role, generate: true, 'password-stdin': false })).record
}

export interface Session {
  readonly jwt: string
  readonly deviceId: string
  readonly deviceSecret: string
}

export const post = (host: TestHost, body: object, headers = {}, remoteAddress = '127.0.0.1') =>
  host.inject({ method: 'POST', path: '/auth/login', body, headers, remoteAddress })

/** Sends a request signed by the device of a session. */
export async function signed(host: TestHost, session: Session, method: string, path: string, headers = {}) {
  const own = await createHeaders({ method, url: path, keyId: session.deviceId, secret: session.deviceSecret })
  return host.inject({ method, path, headers: { ...own, authorization: `Bearer ${session.jwt}`, ...headers } })
}

/** Sends a request with a JSON body, signed by the device of a session at the time of a clock. */
export async function signedWith(
  host: TestHost,
  session: Session,
  request: { readonly method: string; readonly path: string; readonly body?: object; readonly now: number },
) {
  const { method, path, now } = request
  const body = request.body === undefined ? undefined : JSON.stringify(request.body)
  const { deviceId: keyId, deviceSecret: secret } = session
  const own = await createHeaders({ method, url: path, keyId, secret, timestamp: now, ...(body !== undefined && { body }) })
  const headers = { ...own, authorization: `Bearer ${session.jwt}`, ...(body !== undefined && { 'content-type': 'application/json' }) }
  return host.inject({ method, path, headers, ...(body !== undefined && { body }) })
}
