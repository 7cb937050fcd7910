import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { quickStart } from '../../scripts/testing/runnable.js'

const deadlineMs = 10_000

const config = `import { defineConfig, definePlugin } from 'zin'
export default defineConfig({
  shutdown: { deadlineMs: ${deadlineMs} },
  plugins: [definePlugin({
    name: 'shop',
    version: '1.0.0',
    setup({ log, onStop, hooks, routes }) {
      hooks.on('onReady', (address) => process.send(address))
      onStop(() => log.info('shop stopped'))
      const many = () => { for (let i = 0; i < 1000; i++) log.info({ i }, 'one of many') }
      routes([
        { method: 'GET', path: '/carts/:id/:filler', summary: 'Cart', handler: () => ({}) },
        { method: 'GET', path: '/exit', summary: 'Exit', handler: () => { many(); process.send('exits'); process.exit(3) } },
        { method: 'GET', path: '/fault', summary: 'Fault', handler: () => { many(); setImmediate(() => { throw new Error('a late error') }); return {} } },
      ])
    },
  })()],
})
`

const timeout = 120_000

async function folderOf(t: TestContext): Promise<AppFolder> {
  const app = await appFolder({ 'zin.config.mjs': config })
  cleanUp(t)(() => app.remove())
  return app
}

interface LoggingApp {
  /** Nothing has been read from it yet. */
  readonly log: Readable
  /** Requests carts in turn and asserts that each is answered. */
  carts(count: number, length: number): Promise<void>
  get(path: string): Promise<Response>
  readonly child: ChildProcess
  readonly closed: Promise<unknown[]>
}

type Kind = 'pipe' | 'socket'

/**
 * Starts an app whose stdout is a pipe, or a socket as with `spawn`; nothing reads it.
 *
 * @param share gets the end of the pipe that the app writes to, before the app starts.
 */
async function start(
  t: TestContext,
  { folder }: AppFolder,
  kind: Kind,
  env: Readonly<Record<string, string>> = {},
  share: (writer: number) => Promise<void> = async () => undefined,
): Promise<LoggingApp> {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  await share(writer)
  const child = spawn(process.execPath, [...quickStart(), join(import.meta.dirname, '..', '..', 'dist', 'cli.js'), 'start'], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'development', PORT: '0', LOG_FORMAT: 'json', ...env },
    stdio: ['ignore', kind === 'pipe' ? writer : 'pipe', 'inherit', 'ipc'],
  })
  t.after(() => child.kill('SIGKILL'))
  closeSync(writer)
  const fifo = new Socket({ fd: reader, readable: true, writable: false })
  t.after(() => fifo.destroy())
  const closed = once(child, 'exit')
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const url = `http://127.0.0.1:${port}`
  return {
    log: kind === 'pipe' ? fifo : (child.stdout as Readable),
    get: (path) => fetch(`${url}${path}`),
    async carts(count, length) {
      for (let id = 0; id < count; id += 20) {
        const some = Array.from({ length: 20 }, (_, i) => fetch(`${url}/carts/${id + i}/${'x'.repeat(length)}`))
        for (const response of await Promise.all(some)) assert.deepEqual([response.status, await response.json()], [200, {}])
      }
    },
    child,
    closed,
  }
}

interface Line {
  readonly level: string
  readonly msg: string
  readonly path?: string
  readonly i?: number
  readonly lines?: number
  readonly ms?: number
}

/** Reads from now on. */
function readLines(log: Readable) {
  let text = ''
  log.on('data', (chunk) => (text += chunk))
  const whole = (): readonly Line[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  return {
    /** Its lines so far; each must be whole. */
    lines: whole,
    ended: async (): Promise<readonly Line[]> => {
      await once(log, 'end')
      assert.ok(text.endsWith('\n'), text.slice(-200))
      return whole()
    },
    said: async (message: RegExp): Promise<void> => {
      while (!message.test(text)) await once(log, 'data')
    },
  }
}

const cartsIn = (lines: readonly Line[]): readonly number[] =>
  lines.flatMap(({ path }) => (path?.startsWith('/carts/') ? [Number(path.split('/')[2])] : []))

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

describe('an app whose log is a pipe', { skip: process.platform === 'win32' }, () => {
  for (const kind of ['pipe', 'socket'] as const) {
    it(`answers requests although the reader has stopped, and ends on SIGTERM with 0 within its deadline: ${kind}`, {
      timeout,
    }, async (t) => {
      const app = await start(t, await folderOf(t), kind)
      await app.carts(2_000, 1_000)
      const began = performance.now()
      app.child.kill('SIGTERM')
      assert.deepEqual(await app.closed, [0, null])
      assert.ok(performance.now() - began < deadlineMs)
    })

    it(`writes every line if the reader only pauses: ${kind}`, { timeout }, async (t) => {
      const app = await start(t, await folderOf(t), kind)
      await app.carts(2_000, 1)
      const reader = readLines(app.log)
      await reader.said(/carts\/1999/)
      app.child.kill('SIGTERM')
      const lines = await reader.ended()
      assert.deepEqual(
        cartsIn(lines).toSorted((a, b) => a - b),
        upTo(2_000),
      )
      assert.deepEqual(
        lines.filter(({ level }) => level === 'warn'),
        [],
      )
      assert.equal(lines.at(-1)?.msg, 'shop stopped')
      assert.deepEqual(await app.closed, [0, null])
    })

    it(`tells how many lines it dropped, when the reader reads again: ${kind}`, { timeout }, async (t) => {
      const app = await start(t, await folderOf(t), kind)
      await app.carts(2_000, 1_000)
      const reader = readLines(app.log)
      await reader.said(/carts\/1999/)
      await app.carts(20, 1)
      app.child.kill('SIGTERM')
      const lines = await reader.ended()
      const [warning, ...more] = lines.filter(({ level }) => level === 'warn')
      assert.deepEqual(more, [])
      assert.match(`${warning?.msg}`, /dropped/)
      assert.ok(Number(warning?.ms) > 0)
      assert.equal(cartsIn(lines).length + Number(warning?.lines), 2_020)
      assert.equal(lines.at(-1)?.msg, 'shop stopped')
    })

    it(`goes on when the reader closes it: ${kind}`, { timeout }, async (t) => {
      const app = await start(t, await folderOf(t), kind)
      await app.carts(1_000, 1_000)
      app.log.destroy()
      await app.carts(20, 1)
      app.child.kill('SIGTERM')
      assert.deepEqual(await app.closed, [0, null])
    })

    it(`writes every line before the process exits at once: ${kind}`, { timeout }, async (t) => {
      const app = await start(t, await folderOf(t), kind)
      const [exits, answer] = [once(app.child, 'message'), app.get('/exit').catch(() => undefined)]
      await exits
      const lines = await readLines(app.log).ended()
      assert.deepEqual(
        lines.flatMap(({ i }) => i ?? []),
        upTo(1_000),
      )
      assert.deepEqual([await answer, await app.closed], [undefined, [3, null]])
    })

    it(`writes an error that nothing caught, and what follows: ${kind}`, { timeout }, async (t) => {
      const app = await start(t, await folderOf(t), kind)
      const ended = readLines(app.log).ended()
      await app.get('/fault').catch(() => undefined)
      const lines = await ended
      assert.deepEqual(
        lines.flatMap(({ i }) => i ?? []),
        upTo(1_000),
      )
      assert.match(lines.find(({ level }) => level === 'fatal')?.msg ?? '', /a late error/)
      assert.equal(lines.at(-1)?.msg, 'shop stopped')
      assert.deepEqual(await app.closed, [1, null])
    })
  }

  it('answers requests although another process makes the pipe blocking', { timeout }, async (t) => {
    // Node restores the flags of its standard streams when it exits.
    let end = async (): Promise<void> => undefined
    const share = async (writer: number): Promise<void> => {
      const other = spawn(process.execPath, ['-e', 'process.stdin.resume(); process.stderr.write("up")'], {
        stdio: ['pipe', writer, 'pipe'],
      })
      t.after(() => other.kill('SIGKILL'))
      end = async () => {
        const exited = once(other, 'exit')
        other.stdin?.end()
        await exited
      }
      await once(other.stderr as Readable, 'data')
    }
    const app = await start(t, await folderOf(t), 'pipe', {}, share)
    await end()
    await app.carts(500, 200)
    app.child.kill('SIGTERM')
    assert.deepEqual(await app.closed, [0, null])
  })
})

describe('an app whose log is a file', { skip: process.platform === 'win32' }, () => {
  for (const [path, code] of [
    ['/exit', 3],
    ['/fault', 1],
  ] as const) {
    it(`writes every line before it exits with ${code}`, { timeout }, async (t) => {
      const folder = await folderOf(t)
      const app = await start(t, folder, 'pipe', { LOG_CHANNEL: 'file' })
      await app.get(path).catch(() => undefined)
      assert.deepEqual(await app.closed, [code, null])
      const text = await readFile(join(folder.folder, '.zin', 'data', 'logs', 'zin.log'), 'utf8')
      const lines = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line)
      assert.deepEqual(
        lines.flatMap(({ i }) => i ?? []),
        upTo(1_000),
      )
      if (code === 1) assert.match(lines.find(({ level }) => level === 'fatal')?.msg ?? '', /a late error/)
    })
  }
})
