import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from './testing/app-folder.js'

const config = `
import { defineConfig, definePlugin } from 'zin'

const noisy = definePlugin({
  name: 'noisy',
  version: '1.0.0',
  setup({ command, log, onStart }) {
    const say = () => {
      log.info({ password: 'canary-1' }, 'a line at info')
      log.warn({ err: new Error('no redis://user:canary-2@host', { cause: { token: 'canary-3' } }) }, 'a line at warn with Bearer canary4canary4')
    }
    onStart(say)
    command({ name: 'say', summary: 'Says', needs: 'config', run: ({ print }) => { say(); print.line('the output') } })
  },
})

export default defineConfig({ app: { port: 0 }, plugins: [noisy()], hooks: { onReady: () => process.kill(process.pid, 'SIGTERM') } })
`

let app: AppFolder
before(async () => {
  app = await appFolder({ 'zin.config.mjs': config })
})
after(() => app.remove())

async function run(command: 'say' | 'start', env: Readonly<Record<string, string>>) {
  const dataDir = `data-${crypto.randomUUID()}`
  const { code, out, err } = await app.zin([command], { ZIN_DATA_DIR: dataDir, ...env })
  const file = await readFile(join(app.folder, dataDir, 'logs', 'zin.log'), 'utf8').catch(() => '')
  assert.equal(code, 0, err)
  assert.doesNotMatch(out + err + file, /canary/)
  return { out, err, file }
}

describe('a command', () => {
  it('reserves stdout for its output, and logs to stderr at warn and above', async () => {
    const { out, err } = await run('say', {})
    assert.equal(out, 'the output\n')
    assert.match(err, /WARN: noisy: a line at warn/)
    assert.doesNotMatch(err, /a line at info/)
  })

  it('logs from LOG_LEVEL on, as LOG_FORMAT says', async () => {
    const { out, err } = await run('say', { LOG_LEVEL: 'info', LOG_FORMAT: 'json' })
    assert.equal(out, 'the output\n')
    assert.deepEqual(messages(err).slice(0, 1), ['a line at info'])
  })

  it('logs where LOG_CHANNEL says', async () => {
    const [file, silent] = await Promise.all([run('say', { LOG_CHANNEL: 'file' }), run('say', { LOG_CHANNEL: 'silent' })])
    assert.deepEqual([file.out, file.err], ['the output\n', ''])
    assert.match(file.file, /WARN: noisy: a line at warn/)
    assert.deepEqual(silent, { out: 'the output\n', err: '', file: '' })
  })
})

describe('the app', () => {
  it('logs from LOG_LEVEL on, as LOG_FORMAT says', async () => {
    const { out } = await run('start', { LOG_LEVEL: 'warn', LOG_FORMAT: 'json' })
    assert.equal(messages(out).length, 1)
    assert.match(messages(out)[0] ?? '', /^a line at warn/)
  })

  it('logs to a pipe in colours only if FORCE_COLOR says so', async () => {
    const [plain, coloured] = await Promise.all([run('start', {}), run('start', { FORCE_COLOR: '1' })])
    assert.match(plain.out, /^\S+ INFO: noisy: a line at info/m)
    assert.match(coloured.out, /^\S+ \u001b\[32mINFO\S+ noisy: a line at info/m)
  })

  it('logs where LOG_CHANNEL says', async () => {
    const [stderr, file, silent] = await Promise.all([
      run('start', { LOG_CHANNEL: 'stderr' }),
      run('start', { LOG_CHANNEL: 'file' }),
      run('start', { LOG_CHANNEL: 'silent' }),
    ])
    assert.deepEqual([stderr.out, file.out, file.err], ['', '', ''])
    for (const text of [stderr.err, file.file]) assert.match(text, /INFO: noisy: a line at info[\s\S]* listens on /)
    assert.deepEqual(silent, { out: '', err: '', file: '' })
  })
})

function messages(lines: string): readonly string[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
}
