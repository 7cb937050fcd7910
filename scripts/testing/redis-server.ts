import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import { freeze } from './freeze.js'

/** A Redis for a single test, which can go down, hang, and come back on its port. It persists nothing. */
export interface RedisServer {
  readonly url: string
  start(): Promise<void>
  kill(): Promise<void>
  /** It accepts connections but never responds. */
  hang(): void
  /** Ends a `hang`. */
  resume(): void
  stop(): Promise<void>
}

/** @param args additional arguments for `redis-server`. */
export async function redisServer(...args: readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'zin-redis-'))
  const port = await freePort()
  const common = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const started = spawn('redis-server', [...common, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    child = started
    let output = ''
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject)
      started.once('exit', () => reject(new Error(`redis-server exited: ${output}`)))
      started.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (/ready to accept connections/i.test(output)) resolve()
      })
    })
  }
  const kill = async (): Promise<void> => {
    if (child === undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    child = undefined
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    hang: () => freeze(child),
    resume: () => void child?.kill('SIGCONT'),
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
