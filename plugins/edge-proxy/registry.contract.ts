import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { EdgeClient } from './testing/edge-client.js'
import type { Proxies } from './testing/proxies.js'
import { statements } from './testing/statements.js'

/** Checks what a proxy runs in registry mode. */
export function describeRegistryMode(proxies: Proxies): void {
  describe('in registry mode, the default', () => {
    let client: EdgeClient
    const run = (statementId: string, params: readonly unknown[] = [], path = 'statement') => client.call(path, { statementId, params })
    before(async () => {
      client = await proxies.start({ EDGE_STATEMENTS_JSON: statements })
      assert.equal((await run('make.items')).status, 200)
      for (const name of ['a', 'b']) assert.equal((await run('item.add', [name, 1])).body.rowCount, 1)
    })

    it('runs registered statements according to their kind', async () => {
      assert.deepEqual((await run('item.byName', ['a'])).body.row, { id: 1, name: 'a', size: 1 })
      assert.deepEqual((await run('item.all')).body.rows, [{ name: 'a' }, { name: 'b' }])
      assert.deepEqual((await run('item.all', [], 'query')).body.rowCount, 2)
      assert.deepEqual((await run('item.grow')).body.rowCount, 2)
      assert.deepEqual((await run('item.byName', ['a'], 'queryOne')).body.row.size, 2)
      const batch = await client.call('batch', {
        statements: [{ statementId: 'item.grow' }, { statementId: 'item.byName', params: ['b'] }],
      })
      assert.deepEqual(batch.body.results[1].row, { id: 2, name: 'b', size: 3 }, batch.text)
    })

    it('refuses SQL on every path', async () => {
      for (const path of ['query', 'queryOne', 'exec', 'statement']) {
        const { status, body } = await client.call(path, { sql: 'SELECT 1' })
        assert.deepEqual([status, body.code], [403, 'SQL_MODE_DISABLED'], path)
      }
      const { status, body } = await client.call('batch', { statements: [{ statementId: 'item.count' }, { sql: 'SELECT 1' }] })
      assert.deepEqual([status, body.code, body.details.failedIndex], [403, 'SQL_MODE_DISABLED', 1])
    })

    it('enforces parameters, limits and kinds of the registry', async () => {
      for (const params of [[1], ['x'.repeat(21)], [null], [], ['a', 'b'], [true]]) {
        const { status, body } = await run('item.byName', params)
        assert.deepEqual([status, body.code], [400, 'INVALID_PARAM'], JSON.stringify(params))
      }
      assert.equal((await run('item.add', ['c', 1], 'query')).body.code, 'READ_ONLY')
      assert.equal((await run('item.add', ['c', 1])).status, 200)
      const rows = await run('item.all')
      assert.deepEqual([rows.status, rows.body.code, rows.body.details.limit], [422, 'RESULT_TOO_LARGE', 2])
      const changes = await run('item.grow')
      assert.deepEqual([changes.status, changes.body.code], [422, 'TOO_MANY_CHANGES'])
      assert.equal((await run('item.byName', ['a'])).body.row.size, 3)
    })

    it('hides database messages', async () => {
      const { body, text } = await run('broken')
      assert.equal(body.code, 'SQL_ERROR')
      assert.ok(!text.includes('secret_table'), text)
      const taken = await run('item.add', ['a', 1])
      assert.deepEqual([taken.status, taken.body.details], [409, { kind: 'unique', constraint: 'items.name' }])
    })
  })
}
