import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { quickStart } from '../../scripts/testing/runnable.js'

const config = `import { defineCommand, defineConfig, definePlugin } from 'zin'
const endless = defineCommand({
  name: 'shop:watch',
  summary: 'Print lines until the end',
  needs: 'nothing',
  run: ({ print }) => new Promise(() => { setInterval(() => print.line('a line'), 10) }),
})
export default defineConfig({
  hooks: { onReady: () => process.kill(process.pid, 'SIGTERM') },
  plugins: [definePlugin({
    name: 'shop',
    version: '1.0.0',
    setup({ commands, onStop }) {
      commands([endless])
      onStop(() => console.error('shop stopped'))
    },
  })()],
})
`

let app: AppFolder
before(async () => {
  app = await appFolder({ 'zin.config.mjs': config })
})
after(() => app.remove())

/** Runs a command with its stdout, and on request its stderr, on a full disk. */
async function run(args: readonly string[], stderrToo = false): Promise<{ readonly code: number | null; readonly err: string }> {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [...quickStart(), join(import.meta.dirname, '..', '..', 'dist', 'cli.js'), ...args], {
    cwd: app.folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'development', PORT: '0' },
    stdio: ['ignore', full, stderrToo ? full : 'pipe'],
  })
  closeSync(full)
  let err = ''
  child.stderr?.on('data', (chunk) => (err += chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, err }
}

const message = 'zin: cannot write to stdout: ENOSPC: no space left on device, write\n'

describe('a command whose output goes to a full disk', { skip: process.platform !== 'linux' }, () => {
  for (const args of [
    ['routes'],
    ['routes', '--json'],
    ['config:check'],
    ['help'],
    ['--version'],
    ['shop:watch'],
    ['shop:watch', '--help'],
  ]) {
    it(`says so in one line and exits with 1: zin ${args.join(' ')}`, async () => {
      assert.deepEqual(await run(args), { code: 1, err: message })
    })
  }

  it('keeps its own exit code if it fails', async () => {
    const { code, err } = await run(['routes', '--nonsense'], true)
    assert.deepEqual([code, err], [2, ''])
  })

  it('says so and goes on if it is an app, which exits with 1 when it is stopped', async () => {
    assert.deepEqual(await run(['start']), { code: 1, err: `${message}shop stopped\n` })
  })
})
