import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import type { CommandContext } from 'zin'
import { canaryCommands } from './cli.js'

it('canary:start names the file of --file that cannot be read as JSON, and sends no request', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'zin-canary-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const broken = join(folder, 'broken.json')
  await writeFile(broken, '{"shield": yes}')
  const start = canaryCommands.find(({ name }) => name === 'canary:start')
  const app = { request: () => assert.fail('a request was sent') }
  for (const file of [broken, join(folder, 'missing.json')]) {
    const options = { file, force: false, minutes: 60, shield: false, traffic: '20', wait: 0 }
    const run = start?.run({ app, args: { name: 'emails', version: '2.0.0' }, options } as unknown as CommandContext)
    await assert.rejects(async () => run, { code: 'INVALID_CANARY', message: new RegExp(`^--file ${file} cannot be read as JSON: `) })
  }
})
