import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { unwatchFile, watch, watchFile } from 'node:fs'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { LeakTracer } from './leaks.js'

const server = createServer()
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

/** Resources by their type, each with how to open it and how to close it again. */
const resources: Readonly<Record<string, () => Promise<() => unknown>>> = {
  Timeout: async () => {
    const timer = setInterval(() => undefined, 60_000)
    return () => clearInterval(timer)
  },
  TCPWRAP: async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return () => socket.destroy()
  },
  TCPSERVERWRAP: async () => {
    const own = createServer()
    own.listen(0, '127.0.0.1')
    await once(own, 'listening')
    return () => own.close()
  },
  PROCESSWRAP: async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    child.unref()
    return async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  },
  WORKER: async () => {
    const worker = new Worker('setInterval(() => {}, 1000)', { eval: true })
    await once(worker, 'online')
    return () => worker.terminate()
  },
  FSEVENTWRAP: async () => {
    const watcher = watch(tmpdir())
    return () => watcher.close()
  },
  STATWATCHER: async () => {
    const file = join(tmpdir(), 'a file that does not exist')
    watchFile(file, () => undefined)
    return () => unwatchFile(file)
  },
}

describe('the leak tracer', () => {
  after(() => server.close())

  for (const [type, open] of Object.entries(resources)) {
    it(`reports an open ${type} of a plugin, and not one that is closed`, async (t) => {
      const tracer = new LeakTracer()
      t.after(() => tracer.close())
      const close = await tracer.run('careless', open)
      const types = (await tracer.remaining('careless', 0)).map((leak) => leak.type)
      assert.ok(types.includes(type), types.join())
      assert.deepEqual(await tracer.remaining('another', 0), [])
      await close()
      assert.deepEqual(await tracer.remaining(), [])
    })
  }

  it('forgets closed sockets while more are opened', async (t) => {
    const tracer = new LeakTracer()
    t.after(() => tracer.close())
    const sockets = tracer.run('busy', () => Array.from({ length: 1_100 }, () => new Socket()))
    for (const socket of sockets) tracer.run('busy', () => socket.connect(port, '127.0.0.1').destroy())
    assert.deepEqual(await tracer.remaining(), [])
  })

  it('forgets closed timers while more are opened', async (t) => {
    const tracer = new LeakTracer()
    t.after(() => tracer.close())
    const timers = tracer.run('busy', () => Array.from({ length: 5_000 }, () => setTimeout(() => undefined, 60_000)))
    for (const timer of timers.slice(1)) clearTimeout(timer)
    assert.equal((await tracer.remaining('busy', 0)).length, 1)
    clearTimeout(timers[0])
    assert.deepEqual(await tracer.remaining(), [])
  })

  it('costs later asynchronous operations nothing once it is closed', () => {
    /** What Node adds to each new resource for each storage in use. */
    const inherited = (): number => {
      const timer = setTimeout(() => undefined, 0)
      clearTimeout(timer)
      return Object.getOwnPropertySymbols(timer).length
    }
    const before = inherited()
    const tracer = new LeakTracer()
    tracer.run('any', () => assert.ok(!process.version.startsWith('v20.') || inherited() > before))
    tracer.close()
    assert.equal(inherited(), before)
  })
})
