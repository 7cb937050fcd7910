import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { quickStart } from '../../scripts/testing/runnable.js'

const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js')
const config = `import { defineConfig } from 'zin'
export default defineConfig({ hooks: { onReady: () => { if (process.env.NEVER) throw new Error() } } })
`
const crashing = config.replace('onReady: () => {', 'onReady: () => { setImmediate(() => process.exit(7));')

let app: AppFolder
const started: ChildProcess[] = []
before(async () => {
  app = await appFolder({
    'zin.config.mjs': config,
    'bin/xdg-open': '#!/bin/sh\nexit 3\n',
  })
  await chmod(join(app.folder, 'bin', 'xdg-open'), 0o755)
})
after(async () => {
  for (const child of started) child.kill('SIGKILL')
  await app.remove()
})

/** `zin dev` on a pseudo-terminal if it has keys, otherwise on pipes. */
function dev(hasKeys: boolean) {
  const args = [...quickStart(), cli, 'dev', '--port', '0']
  const quoted = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const [command, words] = hasKeys ? ['script', ['-qec', quoted, '/dev/null']] : [process.execPath, args]
  const child = spawn(command, words, {
    cwd: app.folder,
    env: { PATH: `${join(app.folder, 'bin')}:${process.env.PATH}`, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: 'pipe',
  })
  started.push(child)
  let out = ''
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(out)
        if (found === null) return
        // What was said before is not looked at again.
        out = out.slice(found.index + found[0].length)
        child.stdout.off('data', look)
        child.stderr.off('data', look)
        resolve(found)
      }
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      child.on('close', () => reject(new Error(`${pattern} was not said: ${out}`)))
      look()
    })
  child.stdout.prependListener('data', (chunk) => (out += chunk))
  child.stderr.prependListener('data', (chunk) => (out += chunk))
  return { child, said, type: (key: string) => child.stdin.write(key) }
}

describe('zin dev', { skip: process.platform !== 'linux', timeout: 240_000 }, () => {
  test('on a terminal, r restarts the app, o opens it, d opens its docs, and q stops it', async () => {
    const { child, said, type } = dev(true)
    await said(/press\s+r\s+to\s+restart,[^.]*q\s+to\s+quit/)
    const [, url] = await said(/listens\s+on\s+(http:\S+)/)
    await said(/docs {5}http/)
    type('o')
    assert.equal((await said(/exited\s+with\s+code\s+3\);\s+the\s+address\s+is\s+(http:\S+)/))[1], `${url}/`)
    type('d')
    assert.equal((await said(/exited\s+with\s+code\s+3\);\s+the\s+address\s+is\s+(http:\S+)/))[1], `${url}/docs`)
    type('xr')
    await said(/zin dev: \d\d:\d\d:\d\d r was pressed, restarting/)
    await said(/listens\s+on\s+http:\S+/)
    const closed = once(child, 'close')
    type('q')
    assert.deepEqual(await closed, [0, null])
  })

  test('Ctrl-C stops it, too', async () => {
    const { child, said, type } = dev(true)
    await said(/listens on/)
    const closed = once(child, 'close')
    type('\u0003')
    assert.deepEqual(await closed, [0, null])
  })

  test('one line per restart names the file and the time; an app that crashes each time starts again when a file changes', async () => {
    const { child, said } = dev(false)
    await said(/press Ctrl-C to stop/)
    await said(/listens on/)
    await writeFile(join(app.folder, 'zin.config.mjs'), crashing)
    await said(/zin dev: \d\d:\d\d:\d\d zin\.config\.mjs changed, restarting\n/)
    await said(/the app exited with code 7; starting it again/)
    await said(/zin dev: \d\d:\d\d:\d\d the app crashed, restarting\n/)
    await said(/the app exited with code 7; waiting for a change/)
    await writeFile(join(app.folder, 'zin.config.mjs'), config)
    await said(/zin\.config\.mjs changed, restarting\n/)
    await said(/listens on/)
    const closed = once(child, 'close')
    child.kill('SIGINT')
    assert.deepEqual(await closed, [0, null])
  })
})
