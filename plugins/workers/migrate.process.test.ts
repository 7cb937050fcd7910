import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type CommandResult } from '../../scripts/testing/app-folder.js'

const table = (name: string): string => `{
  id: '0001_${name}',
  up: (db) => db.schema.createTable('${name}').addColumn('id', 'varchar(9)', (id) => id.primaryKey()).execute(),
  down: (db) => db.schema.dropTable('${name}').execute(),
}`
const config = `
import { defineConfig, definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'

const plugin = (name, dependencies, migration) => definePlugin({ name, version: '1.0.0', dependencies, setup: (ctx) => ctx.migration(migration) })()

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [
    database(), kv(), cluster(), queues(), ops(), workers(),
    plugin('watcher', ['workers'], ${table('watcher')}),
    plugin('far-watcher', ['watcher'], ${table('far_watcher')}),
    plugin('stranger', ['database'], ${table('stranger')}),
  ],
})
`

describe('zin migrate:worker', () => {
  let app: AppFolder
  before(async () => {
    app = await appFolder({ 'zin.config.mjs': config })
  })
  after(() => app.remove())

  /** The strict mode, because the command must work before migrations are applied. */
  const zin = (args: readonly string[]): Promise<CommandResult> => app.zin(['migrate:worker', ...args], { DB_MIGRATE: 'manual' })
  const rows = async (args: readonly string[]): Promise<readonly string[]> => {
    const { code, out, err } = await zin([...args, '--json'])
    assert.equal(code, 0, err)
    const found = JSON.parse(out) as readonly { plugin: string; direction?: string; status: string }[]
    return [...new Set(found.map(({ plugin, direction, status }) => `${plugin} ${direction ?? status}`))]
  }

  it('works while migrations are pending, and reports its outcome by exit code', async () => {
    assert.deepEqual((await rows(['--status', '--all'])).toSorted(), ['far-watcher pending', 'watcher pending', 'workers pending'])
    assert.deepEqual(await rows([]), ['workers up'])
    const unasked = await zin(['--fresh', '--all'])
    assert.deepEqual([unasked.code, unasked.out], [2, ''])
    assert.match(
      unasked.err,
      /^zin migrate:worker: --fresh undoes \d migration\(s\) .*: .*workers .*\. Pass --yes .*; nothing was changed\n$/,
    )
    assert.deepEqual((await rows(['--status', '--all'])).toSorted(), ['far-watcher pending', 'watcher pending', 'workers applied'])
    const plain = await zin(['--rollback', '--step', '9', '--all', '--yes'])
    assert.match(plain.out, /workers .* down .*done/)
    assert.equal(plain.code, 0)
    const refused = await zin(['--fresh', '--reset'])
    assert.match(refused.err, /--reset and --fresh are mutually exclusive/)
    assert.equal(refused.code, 1)
    assert.equal((await zin(['--rollback', '--step', '0'])).code, 2)
  })
})
