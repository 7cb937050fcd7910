import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { WorkerEvent } from './index.js'
import { type ApiHost, startApi } from './testing/api-host.js'

/** The events that a client receives from the stream. */
interface Listener {
  readonly heard: readonly WorkerEvent[]
  /** Resolves when an event matches; already received events count. */
  hears(fits: (event: WorkerEvent) => boolean): Promise<WorkerEvent>
  /** Resolves when the stream ends. */
  readonly ended: Promise<void>
}

describe('GET /api/workers/events', () => {
  let api: ApiHost
  before(async () => {
    api = await startApi({ env: {} })
  })
  after(() => api.stop())

  const listen = async (query = ''): Promise<Listener> => {
    const response = await fetch(`${api.host.url}/api/workers/events${query}`)
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream'])
    const heard: WorkerEvent[] = []
    let news: () => void = () => undefined
    const read = async (): Promise<void> => {
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true })
        const parts = text.split('\n\n')
        text = parts.pop() ?? ''
        for (const part of parts) {
          const [, name, data] = /^event: (\w+)\ndata: (.+)$/.exec(part) ?? []
          if (data === undefined) continue
          const event = JSON.parse(data) as WorkerEvent
          assert.equal(event.type, name)
          heard.push(event)
        }
        news()
      }
    }
    const ended = read()
    return {
      heard,
      ended,
      async hears(fits) {
        for (;;) {
          const found = heard.find(fits)
          if (found !== undefined) return found
          await new Promise<void>((resolve) => {
            news = resolve
          })
        }
      },
    }
  }

  it('rejects unknown queries', async () => {
    const answer = await api.call('GET', '/api/workers/events?state=running')
    assert.deepEqual([answer.status, answer.body.code], [400, 'VALIDATION_FAILED'])
  })

  it('sends events even when a listener of a plugin throws, which is logged', { timeout: 30_000 }, async () => {
    const remove = api.service.events(() => {
      throw new Error('the plugin is broken')
    })
    const client = await listen()
    const name = `loud-${api.run}`
    assert.equal((await api.call('POST', '/api/workers', { name, queueName: name, processor: 'job.mjs' })).status, 201)
    await client.hears(({ type, worker }) => type === 'changed' && worker === name)
    await client.hears(({ type, worker, state }) => type === 'status' && worker === name && state === 'running')
    remove()
    assert.ok(api.host.logs.some(({ level, msg }) => level === 'error' && /worker events threw: the plugin is broken/.test(String(msg))))
  })

  it('sends changes, statuses and removals, of one worker on request, until the app stops', async () => {
    const [name, other] = [`heard-${api.run}`, `other-${api.run}`]
    const all = await listen()
    const one = await listen(`?worker=${name}`)
    for (const created of [other, name]) {
      assert.equal((await api.call('POST', '/api/workers', { name: created, queueName: name, processor: 'job.mjs' })).status, 201)
    }
    const [node] = (await api.call('GET', `/api/workers/${name}/nodes`)).body.nodes
    for (const client of [all, one]) {
      const changed = await client.hears(({ type, worker }) => type === 'changed' && worker === name)
      assert.deepEqual([changed.generation, changed.desiredVersion, Number.isNaN(Date.parse(changed.at))], [1, '1.0.0', false])
      const running = await client.hears(({ type, worker, state }) => type === 'status' && worker === name && state === 'running')
      assert.deepEqual([running.node, running.generation, running.version, running.error], [node.node, 1, '1.0.0', undefined])
    }
    assert.ok((await all.hears(({ worker }) => worker === other)) !== undefined)

    await api.call('POST', `/api/workers/${name}/stop`)
    await one.hears(({ state, generation }) => state === 'stopped' && generation === 2)
    await api.service.local.fail(other, new Error('on purpose'))
    assert.equal((await all.hears(({ worker, state }) => worker === other && state === 'FAILED')).error, 'on purpose')
    await api.call('DELETE', `/api/workers/${name}`)
    for (const client of [all, one]) await client.hears(({ type, worker }) => type === 'removed' && worker === name)
    assert.ok(one.heard.every(({ worker }) => worker === name))

    await api.host.host.stop('test')
    await Promise.all([all.ended, one.ended])
  })
})
