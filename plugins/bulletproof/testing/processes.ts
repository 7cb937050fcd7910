import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createHeaders } from 'zin/signer'
import { createTestHost } from 'zin/testing'
import { quickStart } from '../../../scripts/testing/runnable.js'
import { appKey, sharedSecret } from './app.js'

const program = fileURLToPath(new URL('./server.mjs', import.meta.url))

export interface ProcessGiven {
  readonly rootDir: string
  readonly plugins: readonly ('database' | 'kv')[]
  readonly prefix?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface AppServer {
  readonly url: string
  /** Ends it like a crash: nothing is closed, flushed or logged. */
  kill(): Promise<void>
}

export async function startServer({ env, ...given }: ProcessGiven): Promise<AppServer> {
  const all = { APP_KEY: appKey, BULLETPROOF_SIGNING_SECRET: sharedSecret, ...env }
  const child: ChildProcess = fork(program, [JSON.stringify({ ...given, env: all })], {
    execArgv: [...quickStart()],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const [url] = await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => Promise.reject(new Error(`the server ended with code ${code}`))),
  ])
  return {
    url: String(url),
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** A folder for an app, deleted after the test. */
export async function inFolder<T>(test: (rootDir: string) => Promise<T>): Promise<T> {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-auth-'))
  try {
    return await test(rootDir)
  } finally {
    await rm(rootDir, { recursive: true, force: true })
  }
}

/** The headers of a request of a caller with the shared secret, dated `aheadMs` from now by the real clock. */
export async function signedNow(aheadMs = 0): Promise<Record<string, string>> {
  const host = await createTestHost({ env: { APP_KEY: appKey }, plugins: [jwt()] })
  const { token } = await host.service(tokensService).issue({ sub: '7' })
  await host.stop()
  const timestamp = Date.now() + aheadMs
  const signed = await createHeaders({ method: 'GET', url: '/api/me', keyId: 'caller', secret: sharedSecret, timestamp })
  return { ...signed, authorization: `Bearer ${token}` }
}

/**
 * Sends `count` copies of a request, alternating between the URLs and as concurrently as possible. Returns the number of responses by
 * status.
 */
export async function sendCopies(
  urls: readonly string[],
  headers: Readonly<Record<string, string>>,
  count: number,
): Promise<Record<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 100 })
  const counts: Record<number, number> = {}
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const status = await new Promise<number>((resolve, reject) => {
        get(`${urls[index % urls.length]}/api/me`, { agent, headers }, (response) => {
          response.resume()
          response.on('end', () => resolve(response.statusCode ?? 0))
        }).on('error', reject)
      })
      counts[status] = (counts[status] ?? 0) + 1
    }),
  )
  agent.destroy()
  return counts
}
