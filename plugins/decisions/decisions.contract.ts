import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { createTestHost, type TestHost } from 'zin/testing'
import { type Decision, decisions, decisionsService, type NewDecision } from './index.js'
import { databaseStore } from './store/db.js'

const opened: NewDecision = {
  kind: 'breaker',
  subject: 'worker:email-sender',
  verdict: 'open',
  acted: true,
  reason: 'Opened for 30 s: 7 of 10 jobs failed within 60 s',
  inputs: { jobs: 10, failed: 7, example: '日本 🎈' },
  rule: 'breaker/failure-ratio',
  links: { circuit: '/api/workers/email-sender/circuit' },
}

/** Decisions in a database, written by one process and read through another. */
export function decisionsContract(title: string, env: Readonly<Record<string, string>>, shared: boolean): void {
  describe(`decisions on ${title}`, () => {
    const name = `decisions-${randomUUID().slice(0, 8)}`
    const hosts: TestHost[] = []
    before(async () => {
      const boot = () =>
        createTestHost({
          plugins: [database(), kv(), cluster(), ops(), decisions()],
          env: { ...env, CLUSTER_NAME: name },
          listen: true,
        })
      for (const _process of shared ? [1, 2] : [1]) hosts.push(await boot())
    })
    after(() => Promise.all(hosts.map((host) => host.stop())))
    const writer = () => (hosts[0] as TestHost).service(decisionsService)
    const reader = () => hosts.at(-1) as TestHost
    const get = (path: string) => reader().inject({ method: 'GET', path })

    it('are stored unchanged, and listed newest first by subject, kind and time', async () => {
      const first = writer().record(opened)
      const second = writer().record({
        kind: 'scale',
        subject: 'worker:other',
        verdict: 'up',
        acted: false,
        reason: 'Up',
        rule: 'autoscale/backlog',
      })
      await writer().flush()
      const listed = await get('/api/decisions')
      assert.equal(listed.status, 200, listed.text)
      assert.deepEqual(listed.body, {
        ok: true,
        decisions: [second, first],
        pagination: { page: 1, limit: 100, total: 2, totalPages: 1 },
      })
      const ids = async (query: string) => (await get(`/api/decisions?${query}`)).body.decisions.map(({ id }: Decision) => id)
      assert.deepEqual(await ids('subject=worker%3Aemail-sender'), [first.id])
      assert.deepEqual(await ids('kind=scale'), [second.id])
      assert.deepEqual(await ids('kind=scale&subject=worker%3Aemail-sender'), [])
      assert.deepEqual(await ids(`since=${encodeURIComponent(second.at)}&kind=scale`), [second.id])
      assert.deepEqual(await ids(`since=${Date.parse(second.at) + 1}`), [])
      assert.deepEqual(await ids('limit=1&page=2'), [first.id])
    })

    it('are refused with 400 when a filter is malformed', async () => {
      for (const [query, code] of [
        ['since=yesterday', 'INVALID_DECISIONS_QUERY'],
        ['since=2026-13-01', 'INVALID_DECISIONS_QUERY'],
        ['subject=email-sender', 'INVALID_DECISIONS_QUERY'],
        ['kind=%00', 'INVALID_DECISIONS_QUERY'],
        ['page=0', 'VALIDATION_FAILED'],
        ['limit=101', 'VALIDATION_FAILED'],
        ['color=red', 'VALIDATION_FAILED'],
      ]) {
        const { status, body } = await get(`/api/decisions?${query}`)
        assert.deepEqual([status, body.code], [400, code], query)
      }
      assert.equal((await get('/api/decisions/events?kind=A')).status, 400)
    })

    it('are streamed to the clients of every process, by subject', async () => {
      const abort = new AbortController()
      const response = await fetch(`${reader().url}/api/decisions/events?subject=worker:streamed`, { signal: abort.signal })
      assert.equal(response.headers.get('content-type'), 'text/event-stream')
      const lines = textOf(response)
      assert.match((await lines.next()).value ?? '', /listening/)
      writer().record(opened)
      const streamed = writer().record({ ...opened, subject: 'worker:streamed' })
      const { value = '' } = await lines.next()
      const [event = '', data = ''] = value.split('\n')
      assert.equal(event, 'event: decision')
      assert.deepEqual(JSON.parse(data.slice('data: '.length)), streamed)
      abort.abort()
    })

    it('are stored once if the store had accepted them without a response', async () => {
      const decision = writer().record({ ...opened, subject: 'worker:twice' })
      await writer().flush()
      await databaseStore(reader().service(databaseService)).add([decision, { ...decision, id: randomUUID() }])
      assert.equal((await writer().list({ subject: 'worker:twice' })).pagination.total, 2)
    })

    it('are deleted when they are too old, and the oldest ones when there are too many', async () => {
      const store = databaseStore(reader().service(databaseService))
      const at = (ms: number): Decision => ({
        ...opened,
        id: randomUUID(),
        at: new Date(ms).toISOString(),
        subject: 'worker:old',
        actor: { kind: 'plugin', id: 'breaker', via: 'plugin' },
      })
      const times = Array.from({ length: 1200 }, (_, index) => at(index + 1))
      await store.add(times)
      await store.prune(1001, 1_000_000)
      const kept = async () => (await store.list({ subject: 'worker:old', offset: 0, limit: 1 })).total
      assert.equal(await kept(), 200)
      const { total } = await store.list({ offset: 0, limit: 1 })
      await store.prune(1001, total - 50)
      assert.equal(await kept(), 150)
    })
  })
}

/** What a stream sends, in the pieces that end with an empty line. */
async function* textOf(response: Response): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true })
    const pieces = text.split('\n\n')
    text = pieces.pop() ?? ''
    yield* pieces
  }
}
