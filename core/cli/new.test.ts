import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { main } from './main.js'
import { fakeTerminal, type Typed } from './test-terminal.js'

async function zinNew(t: TestContext, args: readonly string[], ...typed: readonly Typed[]) {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'zin-new-')))
  t.after(() => rm(cwd, { recursive: true }))
  const terminal = fakeTerminal(...typed)
  const { input: stdin, output: stdout } = terminal
  const code = await main(['new', ...args], { cwd, env: {}, stdin, stdout, stderr: stdout })
  return { code, cwd, shown: terminal.shown() }
}

const appName = async (folder: string): Promise<string> =>
  (JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { name: string }).name

test('on a terminal new asks for the folder and the example if the command line omits them', async (t) => {
  const { code, cwd, shown } = await zinNew(t, [], ['In which folder', 'shop\r'], ['Which example', '\u001b[A\u001b[A\r'])
  assert.equal(code, 0, shown)
  assert.match(shown, /Created shop from the example "minimal"/)
  assert.equal(await appName(join(cwd, 'shop')), 'shop')
})

test('it does not ask for what the command line specifies', async (t) => {
  const { code, shown } = await zinNew(t, ['shop', '--example', 'minimal'])
  assert.equal(code, 0, shown)
  assert.doesNotMatch(shown, /From which|In which/)
})

test('cancelling a prompt creates nothing', async (t) => {
  const { code, cwd, shown } = await zinNew(t, ['shop'], ['Which example', '\u0003'])
  assert.equal(code, 1)
  assert.match(shown, /zin new: nothing was created \[ZIN_ABORTED\]\n$/)
  assert.deepEqual(await readdir(cwd), [])
})
