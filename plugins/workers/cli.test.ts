import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppClient, type CommandContext, type Printer, ZinError } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { workerCommands } from './cli.js'
import { workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

describe('worker commands on a running app', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({ plugins: [database(), kv(), cluster(), queues(), ops(), workers()] })
    const service = host.service(workersService)
    await service.create({ name: 'email-sender', queueName: 'emails', processor: () => 1 })
    await service.create({ name: 'retired', queueName: 'emails', processor: () => 1, activeStatus: false })
  })
  after(() => host.stop())

  const run = async (
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: Readonly<Record<string, unknown>> = {},
    json = false,
  ) => {
    const lines: string[] = []
    const tables: object[] = []
    const app: AppClient = {
      baseUrl: '',
      authorize: async () => undefined,
      async request({ method, path, query = {}, body }) {
        const given = Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
        const answer = await host.inject({
          method,
          path: given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`,
          headers: { 'x-requested-with': 'cli' },
          ...(body === undefined ? {} : { body }),
        })
        if (answer.status >= 300) throw new ZinError(answer.body.code, answer.body.message, { status: answer.status })
        return answer.body
      },
    }
    const print = {
      json,
      line: (text = '') => void lines.push(text),
      error: (text: string) => void lines.push(text),
      table: (rows: readonly object[]) => void tables.push(...rows),
      record: (value: object) => void tables.push(value),
    }
    const command = workerCommands.find((candidate) => candidate.name === name)
    const defaults = Object.entries((command?.options ?? {}) as Record<string, { default?: unknown }>).map(
      ([option, { default: value }]) => [option, value],
    )
    await command?.run({ app, args, options: { ...Object.fromEntries(defaults), ...options }, print } as unknown as CommandContext)
    return { lines, tables }
  }

  it('lists workers as a table, including inactive ones on request', async () => {
    const row = { name: 'email-sender', queue: 'emails', state: 'stopped', desired: 'stopped', version: '1.0.0', concurrency: 5 }
    assert.deepEqual((await run('worker:list')).tables, [row])
    assert.deepEqual((await run('worker:list', {}, { all: true })).tables, [row, { ...row, name: 'retired' }])
    assert.deepEqual((await run('worker:list', {}, { status: 'active' })).tables, [])
  })

  it('starts, restarts and stops a worker', async () => {
    const named = { name: 'email-sender' }
    assert.deepEqual((await run('worker:start', named)).lines, ['Worker "email-sender" is running'])
    assert.deepEqual((await run('worker:start', named)).lines, ['Worker "email-sender" is already running'])
    assert.equal((await run('worker:list', {}, { status: 'active' })).tables.length, 1)
    assert.deepEqual((await run('worker:restart', named)).lines, ['Worker "email-sender" was restarted'])
    const [answer] = (await run('worker:stop', named, {}, true)).tables as { ok: boolean; worker: { state: string } }[]
    assert.deepEqual([answer?.ok, answer?.worker.state], [true, 'stopped'])
  })

  it('shows status, record and summary', async () => {
    const [status] = (await run('worker:status', { name: 'email-sender' })).tables
    assert.deepEqual(Object.keys(status ?? {}), [
      'name',
      'state',
      'version',
      'desiredVersion',
      'health',
      'queue',
      'queuePaused',
      'concurrency',
      'metrics',
    ])
    const [record] = (await run('worker:show', { name: 'retired' })).tables as { activeStatus: boolean }[]
    assert.equal(record?.activeStatus, false)
    assert.deepEqual((await run('worker:summary')).tables, [
      { total: 2, running: 0, paused: 0, starting: 0, stopping: 0, stopped: 2, FAILED: 0, unknown: 0, disabled: 1 },
    ])
  })

  it('lists nodes with the fields of the API', async () => {
    const { nodes } = (await host.inject({ path: '/api/nodes' })).body
    const names = (rows: readonly object[]) => rows.map((row) => [Object.keys(row), { ...row, leaseMs: 0, leaseUntil: '' }])
    assert.deepEqual(names((await run('worker:nodes', {}, {}, true)).tables), names(nodes))
    const [node] = (await run('worker:nodes', {}, { worker: 'email-sender' }, true)).tables
    assert.deepEqual(node, (await host.inject({ path: '/api/workers/email-sender/nodes' })).body.nodes[0])
  })

  it('lets a node drain, waits until no job runs there, and undoes it', async () => {
    const service = host.service(workersService)
    const [began, release] = [signal(), signal()]
    await service.create({
      name: 'slow',
      queueName: 'slow',
      async processor() {
        began.fire()
        await release.promise
      },
    })
    await service.start('slow')
    await service.enqueue('slow', null)
    await began.promise
    const id = (await service.nodes())[0]?.id ?? assert.fail('no node')
    assert.deepEqual((await run('node:drain', { id }, { wait: 0 })).lines, [`Node "${id}" takes no new jobs; 1 still runs there`])
    const draining = run('node:drain', { id })
    release.fire()
    assert.deepEqual((await draining).lines.at(-1), `Node "${id}" has drained`)
    assert.deepEqual((await run('node:drain', { id }, { undo: true })).lines, [`Node "${id}" takes jobs`])
    await assert.rejects(run('node:drain', { id: 'nobody' }), { code: 'NODE_NOT_FOUND' })
    await service.remove('slow')
  })

  it('fails when the node ends while its jobs run', async () => {
    const node = { id: 'a:1:b', alive: true, draining: true, busy: 5 }
    const answers: unknown[] = [
      { message: 'Node "a:1:b" takes no new jobs; 5 still run there', node },
      { nodes: [node] },
      { nodes: [{ ...node, alive: false, draining: false, busy: 0 }] },
    ]
    const lines: string[] = []
    const print = { json: false, line: (text = '') => void lines.push(text) } as unknown as Printer
    const app = { baseUrl: '', request: async () => answers.shift() }
    const drain = workerCommands.find(({ name }) => name === 'node:drain')
    const context = { app, args: { id: node.id }, options: { undo: false, wait: 60 }, print } as unknown as CommandContext
    assert.equal(await drain?.run(context), 1)
    assert.deepEqual(lines.slice(1), ['Node "a:1:b" has ended with 5 jobs running; they are taken over by the other nodes'])
  })

  it('fails for an unknown worker', async () => {
    const named = workerCommands.filter(({ args = [] }) => args[0]?.name === 'name')
    assert.equal(named.length, 10)
    const args = { name: 'nobody', version: '1.0.0', concurrency: '2' }
    for (const { name } of named) await assert.rejects(run(name, args), { code: 'WORKER_NOT_FOUND' })
    await assert.rejects(run('worker:nodes', {}, { worker: 'nobody' }), { code: 'WORKER_NOT_FOUND' })
    await assert.rejects(run('worker:show', { name: '../../health' }), { code: 'INVALID_WORKER_NAME' })
  })
})
