import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A server of a test's own, that can be killed and started anew on its port. */
export async function startRedis(args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'zin-redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const common = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
    const started = spawn('redis-server', [...common, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    child = started
    let output = ''
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject)
      started.once('exit', () => reject(new Error(`redis-server ended: ${output}`)))
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
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const closed = once(server, 'close')
  server.close()
  await closed
  assert.ok(typeof address === 'object' && address !== null)
  return address.port
}
