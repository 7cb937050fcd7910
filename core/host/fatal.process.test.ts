import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { quickStart } from '../../scripts/testing/runnable.js'

const config = `import { writeSync } from 'node:fs'
import { defineCommand, defineConfig, definePlugin } from 'zin'
const endless = (name, more) => defineCommand({
  name,
  summary: 'Print lines until the end',
  needs: 'nothing',
  ...more,
  run: ({ print, signal }) => new Promise((resolve) => {
    const timer = setInterval(() => print.line('a line'), 10)
    signal.addEventListener('abort', () => { clearInterval(timer); resolve(more.serves ? 0 : 1) })
  }),
})
const faults = {
  message: () => process.send({ cmd: 'NODE_HANDLE_ACK' }),
  garbage: () => writeSync(3, 'nonsense\\n'),
  reject: () => void Promise.reject(new Error('a floating rejection')),
  throw: () => setImmediate(() => { throw new Error('a late error') }),
  odd: () => void Promise.reject(undefined),
}
export default defineConfig({
  plugins: [definePlugin({
    name: 'shop',
    version: '1.0.0',
    setup({ commands, hooks, routes, onStop }) {
      commands([endless('shop:watch', {}), endless('shop:serve', { serves: true })])
      hooks.on('collectFatalFacts', () => ({ carts: 3 }))
      onStop(() => console.log('shop stopped'))
      routes([{ method: 'GET', path: '/fault/:kind', summary: 'Fault', handler: ({ params }) => { faults[params.kind](); return {} } }])
    },
  })()],
})
`

async function folderOf(t: TestContext): Promise<AppFolder> {
  const app = await appFolder({ 'zin.config.mjs': config })
  cleanUp(t)(() => app.remove())
  return app
}

const env = { NODE_ENV: 'development', PORT: '0', LOG_FORMAT: 'json' }

/** A command whose output the test reads itself. */
function run(t: TestContext, { folder }: AppFolder, args: readonly string[], more: Readonly<Record<string, string>> = {}): ChildProcess {
  const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js')
  const child = spawn(process.execPath, [...quickStart(), cli, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

const urlIn = (output: string): string | undefined => /"url":"([^"]+)"/.exec(output)?.[1]

describe('an error that nothing caught', () => {
  for (const [kind, message] of [
    ['reject', 'a floating rejection'],
    ['throw', 'a late error'],
    ['odd', ''],
  ] as const) {
    it(`is logged with what plugins know, stops the app in order, and exits with 1: ${kind}`, async (t) => {
      const app = await folderOf(t)
      const child = run(t, app, ['start'])
      const exited = once(child, 'close')
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
      await eventually('it listens', () => /listens on/.test(output))
      await fetch(`${urlIn(output)}/fault/${kind}`).catch(() => undefined)
      assert.deepEqual(await exited, [1, null])
      assert.match(output, /shop stopped/)
      const line = output.split('\n').find((text) => text.includes('nothing caught an error')) ?? '{}'
      const { level, msg, shop } = JSON.parse(line)
      assert.deepEqual([level, shop], ['fatal', { carts: 3 }])
      assert.ok(msg.includes(message), msg)
    })
  }

  it('is none if the app sends or writes what it likes to zin dev', async (t) => {
    const app = await folderOf(t)
    const dev = run(t, app, ['dev', '--port', '0'], { LOG_FORMAT: 'text' })
    let output = ''
    for (const stream of [dev.stdout, dev.stderr]) stream?.on('data', (chunk) => (output += chunk))
    await eventually('it listens', () => /listens on http/.test(output))
    const [, url] = /listens on (http:\S+)/.exec(output) ?? []
    for (const kind of ['message', 'garbage', 'message']) assert.equal((await fetch(`${url}/fault/${kind}`)).status, 200, kind)
    const exited = once(dev, 'exit')
    dev.kill('SIGINT')
    assert.deepEqual(await exited, [0, null])
    assert.doesNotMatch(output, /SyntaxError|TypeError/)
  })

  it('ends the app under zin dev, which starts it again', async (t) => {
    const app = await folderOf(t)
    const dev = run(t, app, ['dev', '--port', '0'], { LOG_FORMAT: 'text' })
    let output = ''
    for (const stream of [dev.stdout, dev.stderr]) stream?.on('data', (chunk) => (output += chunk))
    const listens = () => [...output.matchAll(/listens on (http:\S+)/g)].map(([, url = '']) => url)
    await eventually('it listens', () => listens().length === 1)
    await fetch(`${listens()[0]}/fault/throw`).catch(() => undefined)
    await eventually('it listens again', () => listens().length === 2)
    assert.match(output, /the app exited with code 1; starting it again/)
    const exited = once(dev, 'exit')
    dev.kill('SIGINT')
    assert.deepEqual(await exited, [0, null])
  })
})

describe('an app whose output nobody reads', () => {
  it('ends on SIGTERM with 0', async (t) => {
    const app = await folderOf(t)
    const child = run(t, app, ['start'])
    let output = ''
    child.stdout?.on('data', (chunk) => (output += chunk))
    await eventually('it listens', () => /listens on/.test(output))
    const url = urlIn(output)
    child.stdout?.destroy()
    child.stderr?.destroy()
    assert.equal((await fetch(`${url}/health`)).status, 404)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  })

  it('ends on SIGTERM with 0 if a command of a plugin serves it, and other commands end by themselves', async (t) => {
    const app = await folderOf(t)
    const [serving, watching] = [run(t, app, ['shop:serve']), run(t, app, ['shop:watch'])]
    const [served, watched] = [once(serving, 'exit'), once(watching, 'exit')]
    for (const { stdout } of [serving, watching]) {
      await once(stdout as Readable, 'data')
      stdout?.destroy()
    }
    assert.deepEqual(await watched, [0, null])
    serving.kill('SIGTERM')
    assert.deepEqual(await served, [0, null])
  })

  it('exits above 0 when its boot fails', async (t) => {
    const app = await folderOf(t)
    const child = run(t, app, ['start'], { PORT: '70000' })
    child.stdout?.destroy()
    child.stderr?.destroy()
    const [code] = await once(child, 'exit')
    assert.ok(code > 0, `${code}`)
  })
})
