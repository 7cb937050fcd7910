import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ProxyClient, ProxyClientOptions } from 'zin/clients'

/** Checks how a client handles lost responses, with either proxy. @param text SQL type of a text column. */
export function lostResponses(clientOf: (more?: Partial<ProxyClientOptions>) => ProxyClient, text: string): void {
  it('never writes twice: after a lost response, a write fails without a key and is replayed with one', async () => {
    const client = clientOf()
    await client.exec(`create table writes (what ${text})`)
    let lose = 0
    const losing = clientOf({
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        if (lose-- <= 0) return response
        await response.arrayBuffer()
        throw new TypeError('the connection broke')
      },
    })
    const insert = 'insert into writes values (?)'
    lose = 1
    await assert.rejects(losing.exec(insert, ['bare']), { code: 'PROXY_UNREACHABLE', outcomeUnknown: true })
    lose = 2
    const kept = await losing.exec(insert, ['keyed'], { idempotencyKey: true })
    assert.deepEqual([kept.changes, kept.meta.replayed], [1, true])
    lose = 1
    await losing.transaction([{ sql: insert, params: ['batched'] }], { idempotencyKey: true })
    lose = 1
    const { rows } = await losing.query('select what, count(*) as n from writes group by what order by what')
    assert.deepEqual(rows, [
      { what: 'bare', n: 1 },
      { what: 'batched', n: 1 },
      { what: 'keyed', n: 1 },
    ])
  })
}
