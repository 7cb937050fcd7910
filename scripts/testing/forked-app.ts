import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestHost } from 'zin/testing'
import { freeze } from './freeze.js'
import { runnable } from './runnable.js'

/** A response of the API. */
export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: as returned by JSON.parse
  readonly body: any
}

/** An app in another process. */
export interface ForkedApp {
  readonly pid: number
  readonly url: string
  call(method: string, path: string, body?: unknown): Promise<Answer>
  /** Suspends it (SIGSTOP): its connections stay open. */
  freeze(): void
  /** Sends SIGKILL. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export interface ForkedAppOptions {
  readonly env: Readonly<Record<string, string>>
  readonly rootDir: string
  readonly roles?: string
  /** A module that boots an app from APP_ENV, APP_ROOT and APP_ROLES, and calls {@link serveParent}. */
  readonly app: URL
}

export async function forkApp({ env, rootDir, roles = 'http,worker', app }: ForkedAppOptions): Promise<ForkedApp> {
  const { file, execArgv } = runnable(app)
  const child: ChildProcess = fork(file, [], {
    execArgv: [...execArgv],
    env: { ...process.env, APP_ENV: JSON.stringify(env), APP_ROOT: rootDir, APP_ROLES: roles },
  })
  const exited = once(child, 'exit')
  const [ready] = (await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => Promise.reject(new Error(`the app exited with ${code} before it was ready`))),
  ])) as [{ url: string; pid: number }]
  return {
    pid: ready.pid,
    url: ready.url,
    async call(method, path, body) {
      const response = await fetch(`${ready.url}${path}`, {
        method,
        headers: { 'x-requested-with': 'test', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    },
    freeze: () => freeze(child),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.send('stop')
      await exited
    },
  }
}

/** Reports to the process that called {@link forkApp} that this app is ready, and stops it when that asks. */
export function serveParent(host: Pick<TestHost, 'url' | 'stop'>): void {
  process.on('message', (message) => {
    if (message === 'stop') void host.stop().then(() => process.disconnect())
  })
  process.send?.({ url: host.url, pid: process.pid })
}
