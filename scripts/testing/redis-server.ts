import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { freePort } from '../services.js'

/** A Redis of a test's own. */
export interface RedisServer {
  readonly url: string
  stop(): Promise<void>
}

/** @param args more arguments of `redis-server`. */
export async function redisServer(...args: readonly string[]): Promise<RedisServer> {
  const port = await freePort()
  const common = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', tmpdir(), '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', [...common, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(server, 'exit')
  let output = ''
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`redis-server ended: ${output}`)))
    server.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (/ready to accept connections/i.test(output)) resolve()
    })
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      server.kill('SIGKILL')
      await ended
    },
  }
}
