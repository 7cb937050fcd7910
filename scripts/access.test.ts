// What each kind of caller may do: every route of /openapi.json is called by every caller, and the statuses are compared with access.md.
// ACCESS_TABLE=write npm test -- scripts/access writes the table. A new route, or a new answer, differs from it.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import {
  autoscale,
  breaker,
  bulletproof,
  canary,
  cluster,
  compliance,
  database,
  decisions,
  health,
  jwks,
  jwt,
  kv,
  login,
  observability,
  ops,
  queueMonitor,
  queues,
  resources,
  sessions,
  webConsole,
  workerHealth,
  workers,
} from 'zin/plugins'
import { tokensService } from 'zin/plugins/jwt'
import { type Queues, queuesService } from 'zin/plugins/queues'
import { type Workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { writeProcessors } from './testing/processor-files.js'

/** Sends the mails that login requires. */
const mailer = definePlugin({
  name: 'mailer',
  version: '1.0.0',
  setup({ hooks }) {
    hooks.on('sendPasswordReset', () => undefined)
    hooks.on('sendEmailVerification', () => undefined)
  },
})

const file = join(import.meta.dirname, 'access.md')
const start = '<!-- written by access.test.ts -->'

/** In the data, results, errors, progress and logs of all jobs. */
const marker = 'what-only-payload-read-shows'
/** The queue that no limited key covers. */
const other = 'other-queue'
const own = 'own-queue'

const keyOf = (name: string): string => `key-${name}-${'k'.repeat(16)}`
const onOwn = { 'read own': ['read'], 'write own': ['write'], 'payload own': ['read', 'payload:read'], 'admin own': ['admin'] } as const
const apiKeys = {
  ...Object.fromEntries(Object.entries(onOwn).map(([name, permissions]) => [keyOf(name), { permissions, queues: [own] }])),
  [keyOf('admin key')]: { permissions: ['admin'], queues: '*' },
}
const permissions = {
  'workers:deploy': ['admin'],
  'queues:write': ['admin', 'operator'],
  'queues:admin': ['admin'],
  'payload:read': ['admin'],
  'services:call': ['admin'],
  'services:manage': ['admin'],
  'compliance:subjects': ['admin'],
  'compliance:report': ['admin'],
}
/** By column of the table, least privileged first. */
const callers = ['nobody', 'wrong key', ...Object.keys(onOwn), 'admin key', 'user', 'viewer', 'operator', 'admin'] as const
type Caller = (typeof callers)[number]

interface Sample {
  readonly queues: Queues
  readonly workers: Workers
}

/** What a path parameter stands for: each makes new things for a request, so that no request depends on an earlier one. */
type Place = (sample: Sample) => Promise<Readonly<Record<string, string>>>

const unique = (): string => `x${randomUUID().slice(0, 8)}`
const data = { text: marker, password: marker }

const jobIn =
  (queue: string): Place =>
  async ({ queues: service }) => {
    const { id = '' } = await service.add(queue, 'job', data, { jobId: unique() })
    await service.fail(queue, id, `failed: ${marker}`)
    return { id: `${queue}:${id}`, name: queue }
  }

/** A job of the covered queue that the other queue waits for. */
const jobOfFlow: Place = async ({ queues: service }) => {
  const id = unique()
  const children = [{ name: 'child', queueName: own, data, opts: { jobId: id, delay: 3_600_000 } }]
  await service.addFlow({ name: 'parent', queueName: other, data, opts: { jobId: `${id}-parent` }, children })
  return { id: `${own}:${id}`, name: own }
}

/** A job of the covered queue that a child in the other one has failed. */
const failedByChild: Place = async ({ queues: service }) => {
  const id = unique()
  await service.add(own, 'job', null, { jobId: id })
  await service.fail(own, id, `child ${other}:${id} failed: ${marker}`)
  return { id: `${own}:${id}`, name: own }
}

const queueNamed =
  (name: string): Place =>
  async () => ({ name })

/** A worker, with a job that has failed and one schedule. */
const worker: Place = async ({ queues: service, workers: all }) => {
  const name = `worker-${unique()}`
  const queueName = `${name}-queue`
  await all.create({ name, queueName, processor: 'processors/echo.mjs', autoStart: false })
  await service.add(queueName, 'job', data, { jobId: 'j1' })
  await service.fail(queueName, 'j1', `failed: ${marker}`)
  await all.schedule(name, 'nightly', { every: 3_600_000, data })
  return { name, id: 'j1', version: '1.0.0' }
}

const none: Place = async () => ({ name: 'none', id: 'none' })

/** The places of a route, by the prefix of its path; the first that fits. */
const places: readonly (readonly [prefix: string, places: Readonly<Record<string, Place>>])[] = [
  ['/api/jobs/{id}', { own: jobIn(own), flow: jobOfFlow, parent: failedByChild, other: jobIn(other) }],
  ['/api/queue/{name}', { own: queueNamed(own), other: queueNamed(other) }],
  ['/api/workers/{name}', { '': worker }],
  ['', { '': none }],
]

/** Bodies and queries of routes that require one. */
const bodies: Readonly<Record<string, () => unknown>> = {
  'POST /api/queue/{name}/jobs': () => ({ name: 'added' }),
  'POST /api/queue/{name}/purge': () => ({ status: 'completed' }),
  'POST /api/queue/webhooks': () => ({ url: 'https://hooks.example.com/x' }),
  'POST /api/attention/{id}/acknowledge': () => ({ note: 'known' }),
  'POST /graphql': () => ({
    query: `{ jobs(status: failed) { jobs { id queue error payload } } queueStats { totalJobs queues { name } } }`,
  }),
  'POST /api/workers': () => ({ name: unique(), queueName: unique(), processor: 'processors/echo.mjs', autoStart: false }),
  'POST /api/workers/create': () => ({ name: unique(), queueName: unique(), processor: 'processors/echo.mjs', autoStart: false }),
  'POST /api/workers/{name}/canary/start': () => ({ newVersion: '1.1.0', trafficPercentage: 10, duration: 60_000 }),
  'POST /api/workers/{name}/jobs': () => ({ data: 1 }),
  'POST /api/workers/{name}/scale': () => ({ concurrency: 2 }),
  'POST /api/workers/{name}/versions': () => ({ version: '1.1.0', processor: 'processors/echo.mjs' }),
  'PUT /api/workers/{name}/schedules/{id}': () => ({ every: 3_600_000 }),
}
/** Operations are awaited: whether one is still running after a second depends on the machine. */
const awaited = '?wait=30000'
const queries: Readonly<Record<string, string>> = {
  'GET /api/jobs': '?q=job',
  'GET /api/console/workers': '?q=worker',
  'POST /api/queue/{name}/retry': awaited,
  'POST /api/queue/{name}/cancel': awaited,
  'POST /api/queue/{name}/purge': awaited,
}

interface Row {
  readonly route: string
  readonly place: string
  readonly cells: readonly string[]
}

describe('the access of every kind of caller', () => {
  let folder: string
  let host: TestHost
  let sample: Sample
  let headers: Readonly<Record<Caller, Readonly<Record<string, string>>>>
  const rows: Row[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-access-'))
    await writeProcessors(folder, { 'echo.mjs': 'export const ZinTrustProcessor = async (job) => job.data' })
    host = await createTestHost({
      plugins: [
        database(),
        kv(),
        cluster(),
        queues(),
        health(),
        jwt(),
        jwks(),
        bulletproof({ sharedSecretFor: 'listed' }),
        login({ totp: true, passwordReset: true, emailVerification: 'optional' }),
        mailer(),
        ops({ roles: ['viewer', 'operator', 'admin'], permissions }),
        decisions(),
        workers(),
        workerHealth(),
        canary(),
        resources(),
        autoscale(),
        breaker(),
        queueMonitor({ apiKeys: apiKeys as never }),
        compliance(),
        observability(),
        sessions(),
        webConsole(),
      ],
      env: {
        OPS_AUTH: 'required',
        JWT_SECRET: 's'.repeat(32),
        APP_KEY: 'k'.repeat(32),
        WORKER_ENCRYPTION: 'false',
        WORKER_PERSISTENCE_DRIVER: 'memory',
        QUEUE_FSYNC: 'off',
      },
      rootDir: folder,
      dataDir: join(folder, 'data'),
      listen: true,
    })
    sample = { queues: host.service(queuesService), workers: host.service(workersService) }
    const token = async (role: string) => ({
      authorization: `Bearer ${(await host.service(tokensService).issue({ sub: `a ${role}`, role })).token}`,
    })
    headers = {
      nobody: {},
      'wrong key': { 'x-api-key': 'wrong' },
      ...Object.fromEntries([...Object.keys(onOwn), 'admin key'].map((name) => [name, { 'x-api-key': keyOf(name) }])),
      user: await token('user'),
      viewer: await token('viewer'),
      operator: await token('operator'),
      admin: await token('admin'),
    }
    for (const place of [jobIn(own), failedByChild, jobIn(other)]) await place(sample)
  })
  after(async () => {
    await host?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** The status, with a mark for a payload and for the queue that the caller does not cover. */
  const cellOf = async (caller: Caller, method: string, path: string, place: Place): Promise<string> => {
    const values = await place(sample)
    const route = `${method} ${path}`
    const filled = path.replace(/\{(\w+)\*?\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'none'))
    const target = `${filled}${queries[route] ?? ''}`
    const body = bodies[route]?.() ?? (method === 'GET' || method === 'DELETE' ? undefined : {})
    const response = await fetch(`${host.url}${target}`, {
      method,
      redirect: 'manual',
      headers: {
        'x-requested-with': 'test',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers[caller],
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel()
      return `${response.status}`
    }
    const text = await response.text()
    // After ten wrong keys within a minute.
    const status = text.includes('MONITOR_AUTH_THROTTLED') ? 401 : response.status
    return [status, text.includes(marker) ? 'p' : '', text.includes(other) && !target.includes(other) ? 'o' : ''].join('')
  }

  it('is that of the table', async () => {
    const document = (await host.inject({ method: 'GET', path: '/openapi.json', headers: headers.admin ?? {} })).body as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    }
    for (const [path, methods] of Object.entries(document.paths)) {
      const [, placesOf] = places.find(([prefix]) => path.startsWith(prefix)) as (typeof places)[number]
      for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
        for (const [place, make] of Object.entries(placesOf)) {
          const cells: string[] = []
          for (const caller of callers) cells.push(await cellOf(caller, method, path, make))
          rows.push({ route: `${method} ${path}`, place, cells })
        }
      }
    }
    const table = [
      `| route | of | ${callers.join(' | ')} |`,
      `|---|---|${callers.map(() => '---').join('|')}|`,
      ...rows.map(({ cells, place, route }) => `| \`${route}\` | ${place} | ${cells.join(' | ')} |`),
    ].join('\n')
    const text = readFileSync(file, 'utf8')
    const head = text.slice(0, text.indexOf(start) + start.length)
    const written = `${head}\n\n${table}\n`
    if (process.env.ACCESS_TABLE === 'write') writeFileSync(file, written)
    else assert.equal(text, written)
  })

  it('never shows a payload without payload:read, or anything of a queue to a key that does not cover it', () => {
    for (const { cells, place, route } of rows) {
      for (const [i, caller] of callers.entries()) {
        const cell = cells[i] ?? ''
        if (!['payload own', 'admin own', 'admin key', 'admin'].includes(caller))
          assert.ok(!cell.includes('p'), `${route} ${place}: ${caller}`)
        if (caller.endsWith(' own')) assert.ok(!cell.includes('o'), `${route} ${place}: ${caller}`)
        if (caller.endsWith(' own') && place === 'other') assert.ok(Number.parseInt(cell, 10) >= 400, `${route} ${place}: ${caller}`)
      }
    }
  })
})
