import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AppClient, type CommandContext, ZinError } from 'zin'
import { decisionCommands } from './cli.js'
import type { Decision } from './contract.js'
import { parseSince, parseTime } from './time.js'
import { timelineOf } from './timeline.js'

const decision = (at: string, fields: Partial<Decision>): Decision => ({
  id: '0',
  at,
  kind: 'breaker',
  subject: 'worker:email-sender',
  verdict: 'open',
  acted: true,
  reason: 'Opened for 30 s: 7 of 10 jobs failed within 60 s',
  rule: 'breaker/failure-ratio',
  actor: { kind: 'plugin', id: 'breaker', via: 'plugin' },
  ...fields,
})

const newestFirst = [
  decision('2026-03-02T00:00:01.000Z', { verdict: 'closed', reason: 'Closed by hand', actor: { kind: 'user', id: 'u1', via: 'cli' } }),
  decision('2026-03-01T23:59:00.000Z', { kind: 'scale', verdict: 'up', acted: false, reason: 'Would run 8: 900 jobs wait' }),
  decision('2026-03-01T03:12:08.512Z', {}),
]
const told = [
  '2026-03-01 (UTC)',
  '  03:12:08  breaker open',
  '            Opened for 30 s: 7 of 10 jobs failed within 60 s',
  '  23:59:00  scale up (dry run: nothing was changed)',
  '            Would run 8: 900 jobs wait',
  '',
  '2026-03-02 (UTC)',
  '  00:00:01  breaker closed, by user u1',
  '            Closed by hand',
]

describe('zin why', () => {
  const run = async (
    args: Readonly<Record<string, string>>,
    {
      options = {},
      json = false,
      found = newestFirst,
      older = 0,
      answer = () => ({}),
    }: {
      options?: object
      json?: boolean
      found?: readonly Decision[]
      older?: number
      answer?: (path: string) => object
    } = {},
  ) => {
    const lines: string[] = []
    const tables: object[] = []
    const requests: object[] = []
    const app: Pick<AppClient, 'request'> = {
      async request<T>({ path, query }: Parameters<AppClient['request']>[0]) {
        requests.push({ path, query })
        if (path !== '/api/decisions') return answer(path) as T
        const left = found.length > 0 ? 2 : query?.limit === 1 ? older : 0
        return { decisions: found, pagination: { page: 1, limit: 20, total: found.length + left, totalPages: 1 } } as T
      },
    }
    const print = { json, line: (text: string) => void lines.push(text), table: (rows: readonly object[]) => void tables.push(...rows) }
    const [why] = decisionCommands
    await why?.run({ app, args, options: { limit: 20, ...options }, print } as unknown as CommandContext)
    return { lines, requests, tables }
  }

  it('shows decisions in chronological order by day, with dry runs and actors', () => {
    assert.deepEqual(timelineOf(newestFirst, 'worker:email-sender'), told)
    assert.match(timelineOf(newestFirst)[1] ?? '', /^ {2}03:12:08 {2}worker:email-sender: breaker open$/)
  })

  it('queries a worker by its name, any other subject as given, and all without one', async () => {
    const subjectOf = async (args: Readonly<Record<string, string>>) => {
      const [request] = (await run(args)).requests
      return (request as { query: { subject?: string } }).query.subject
    }
    assert.equal(await subjectOf({ subject: 'email-sender' }), 'worker:email-sender')
    assert.equal(await subjectOf({ subject: 'region:us-east-1' }), 'region:us-east-1')
    assert.equal(await subjectOf({}), undefined)
  })

  it('prints the timeline and how many more there are, or rows with --json', async () => {
    const { lines } = await run({ subject: 'email-sender' })
    assert.deepEqual(lines, [...told, '\n2 earlier decisions about worker:email-sender: use --limit (up to 100)'])
    assert.deepEqual((await run({}, { json: true })).tables, newestFirst)
    assert.deepEqual((await run({ subject: 'calm' }, { found: [], options: { since: '2h' } })).lines, [
      'The app made no decisions about worker:calm since 2h',
    ])
  })

  /** An app that knows one subject of each type, named `known`, and one that needs attention. */
  const appOf = (lists: Readonly<Record<string, object>>, codes: Readonly<Record<string, string>> = {}) => ({
    answer: (path: string): object => {
      if (lists[path] !== undefined) return lists[path]
      throw new ZinError(codes[path] ?? 'SOMETHING_NOT_FOUND', 'not there', { status: 404 })
    },
  })
  const named = [{ name: 'known', id: 'known', region: 'known' }]
  const full = appOf({
    '/api/workers': { workers: named },
    '/api/workers/known': {},
    '/api/queue/stats': { queues: { known: {} } },
    '/api/queue/known/stats': {},
    '/api/jobs/known%3A1': {},
    '/api/jobs/delayed': { jobs: [{ id: 'repeat:nightly:1893456000000' }] },
    '/api/jobs/waiting': { jobs: [] },
    '/api/jobs/active': { jobs: [] },
    '/api/nodes': { nodes: named },
    '/api/queue/webhooks': { webhooks: named },
    '/api/services': { services: named },
    '/api/compliance/erasures/known': {},
    '/api/attention': { items: [{ subject: 'check:printer' }, { subject: 'mailbox:a' }] },
  })

  for (const [exists, missing, advice] of [
    ['known', 'knwon', /There is no worker "knwon", .*did you mean "known"\? See zin worker:list/],
    ['worker:known', 'worker:other', /There is no worker "other", .*see zin worker:list/],
    ['queue:known', 'queue:knonw', /There is no queue "knonw", .*did you mean "known"\? See zin queue:list/],
    ['job:known:1', 'job:known:2', /There is no job "known:2", .*see zin queue:jobs/],
    ['schedule:known:nightly', 'schedule:known:night', /There is no schedule "known:night", .*see zin status/],
    ['node:known', 'node:kown', /There is no node "kown", .*did you mean "known"\? See zin worker:nodes/],
    ['region:known', 'region:mars', /There is no region "mars"/],
    ['webhook:known', 'webhook:knwn', /There is no webhook "knwn", .*did you mean "known"\? See zin webhook:list/],
    ['service:known', 'service:x', /There is no service "x", .*see zin service:list/],
    ['erasure:known', 'erasure:x', /There is no erasure "x"/],
    ['check:printer', 'check:scanner', /There is no subject "check:scanner", .*The types of subjects are worker, queue, /],
    ['mailbox:a', 'mailbox:b', /There is no subject "mailbox:b"/],
    ['webhook:followed', 'webhok:known', /There is no subject "webhok:known", .*did you mean webhook:known\?/],
    [undefined, 'canary:known', /There is no subject "canary:known", .*ask for its worker: zin why known --kind canary/],
    [undefined, 'version:known:1.0.0', /ask for its worker: zin why known --kind canary/],
    [undefined, 'app:', /There is no subject "app:"/],
  ] as const) {
    it(`fails for ${missing}, which does not exist, unless there are decisions about it`, async () => {
      for (const json of [false, true]) {
        const unknown = { code: 'DECISION_SUBJECT_UNKNOWN', message: advice }
        await assert.rejects(run({ subject: missing }, { json, found: [], ...full }), unknown)
        // Those of before the time that is asked for.
        assert.deepEqual((await run({ subject: missing }, { json, found: [], older: 3, options: { since: '2h' }, ...full })).tables, [])
      }
      assert.equal((await run({ subject: missing }, full)).requests.length, 1)
      if (exists !== undefined) assert.match((await run({ subject: exists }, { found: [], ...full })).lines.join(), /no decisions about/)
    })
  }

  it('does not take a store that is down for a name that does not exist, nor a queue that no plugin lists', async () => {
    const answer = (): never => {
      throw new ZinError('WORKER_STORE_UNAVAILABLE', 'away', { status: 503 })
    }
    await assert.rejects(run({ subject: 'calm' }, { found: [], answer }), { code: 'WORKER_STORE_UNAVAILABLE' })
    const bare = appOf({}, { '/api/queue/calm/stats': 'NOT_FOUND', '/api/services': 'NOT_FOUND' })
    assert.match((await run({ subject: 'queue:calm' }, { found: [], ...bare })).lines.join(), /no decisions about/)
    await assert.rejects(run({ subject: 'service:calm' }, { found: [], ...bare }), { code: 'DECISION_SUBJECT_UNKNOWN' })
  })

  it('shows the errors of each version below the reason', () => {
    const errors = { '2.0.0': [{ class: 'TypeError', message: 'no mailbox <value>', count: 3, example: '17' }], odd: 'text', empty: [] }
    assert.deepEqual(timelineOf([decision('2026-03-01T03:12:08.512Z', { inputs: { errors } })]).slice(-2), [
      '            Opened for 30 s: 7 of 10 jobs failed within 60 s',
      '            2.0.0: TypeError: no mailbox <value> (3 times, such as in job 17)',
    ])
  })

  it('refuses an invalid time', async () => {
    await assert.rejects(run({}, { options: { since: 'yesterday' } }), {
      code: 'INVALID_DECISIONS_QUERY',
      message: /--since is "yesterday"; it must be 30m/,
    })
  })
})

describe('times of filters', () => {
  for (const [text, ms] of [
    ['1767225600000', 1767225600000],
    ['2026-01-01', 1767225600000],
    ['2026-01-01T00:00', 1767225600000],
    ['2026-01-01T01:00:00.000+01:00', 1767225600000],
    ['2026-02-30T99:00:00Z', Number.NaN],
    ['1 January 2026', Number.NaN],
    ['', Number.NaN],
  ] as const)
    it(`reads ${JSON.stringify(text)} as ${ms}`, () => {
      assert.equal(parseTime(text), ms)
    })

  it('reads how long ago', () => {
    assert.deepEqual(
      ['30m', '2h', '7d', '5', '2w'].map((text) => parseSince(text, 1_000_000_000)),
      [1_000_000_000 - 1_800_000, 1_000_000_000 - 7_200_000, 1_000_000_000 - 604_800_000, 5, Number.NaN],
    )
  })
})
