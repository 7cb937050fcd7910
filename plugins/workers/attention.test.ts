import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AttentionParts } from './attention.js'
import { workersReport } from './attention.js'
import type { WorkerView } from './contract.js'

const now = 1_000_000
const minuteMs = 60_000
const worker = (more: object = {}) =>
  ({ name: 'mails', queueName: 'mails', desired: 'running', state: 'running', updatedAt: '', activeStatus: true, ...more }) as WorkerView
const stored = { infrastructure: { persistence: { driver: 'db' } } }
const node = (id: string, more: object = {}) => ({
  id,
  alive: true,
  consumes: true,
  draining: false,
  leaseUntil: new Date(now).toISOString(),
  ...more,
})

interface Scene {
  readonly workers: readonly object[]
  readonly nodes?: readonly object[]
  readonly waiting?: number
  readonly oldestMs?: number
  readonly ran?: Readonly<Record<string, readonly string[]>>
}

async function causes({
  nodes = [node('a')],
  oldestMs = 3 * minuteMs,
  ran = {},
  waiting = 300,
  workers,
}: Scene): Promise<readonly string[]> {
  const statuses = Object.entries(ran).map(
    ([name, ids]) => [name, ids.map((id) => ({ node: id, alive: false, state: 'running' }))] as const,
  )
  const sample = { counts: { waiting }, paused: false, oldestWaiting: waiting === 0 ? undefined : now - oldestMs }
  const parts = {
    workers: { list: async () => ({ workers, pagination: { total: workers.length, totalPages: 1 } }), nodes: async () => nodes },
    queues: { sample: async (names: readonly string[]) => new Map(names.map((name) => [name, sample])) },
    statuses: async () => new Map(statuses),
    rule: { global: false, driver: 'db' },
    now: () => now,
  } as unknown as AttentionParts
  return (await workersReport(parts)).facts.map(({ cause, kind }) => `${kind}: ${cause}`)
}

describe('what needs attention of workers', () => {
  const rows: readonly (readonly [string, Scene, RegExp | undefined])[] = [
    ['nothing of one that runs', { workers: [worker()] }, undefined],
    [
      'the auto-start rule of one that was started by hand',
      { workers: [worker({ state: 'stopped', ...stored })] },
      /^worker-not-running: The worker "mails" should run, and is stopped; 300 jobs wait, the oldest for 3 min\. After a restart .*WORKER_AUTO_START is not true\. Start it/,
    ],
    [
      'the error of one that could not start',
      { workers: [worker({ state: 'stopped', lastError: 'a plugin denied it', ...stored })] },
      /^worker-not-running: .*: a plugin denied it\. Restart it$/,
    ],
    ['what one waits for', { workers: [worker({ state: 'stopping', ...stored })] }, /^worker-not-running: .*is stopping.*running jobs/],
    [
      'the node that drains, and how to undo it',
      { workers: [worker({ state: 'unknown' })], nodes: [node('a', { draining: true })] },
      /^no-live-node: .*\. The node a drains and takes no jobs: let it take jobs again with "zin node:drain a --undo": start a process/,
    ],
    [
      'who stopped one whose jobs wait',
      {
        workers: [worker({ desired: 'stopped', state: 'stopped', stopped: { by: 'ann', at: new Date(now - 5 * minuteMs).toISOString() } })],
      },
      /^worker-stopped: The worker "mails" was stopped by ann 5 min ago, and no other takes the jobs of its queue; 300 jobs wait, the oldest for 3 min\. Start it/,
    ],
    [
      'that one was never started',
      { workers: [worker({ desired: 'stopped', state: 'stopped' })] },
      /^worker-stopped: .*has not been started/,
    ],
    ['nothing of one that is stopped without jobs', { workers: [worker({ desired: 'stopped', state: 'stopped' })], waiting: 0 }, undefined],
    [
      'nothing of one that is stopped with new jobs',
      { workers: [worker({ desired: 'stopped', state: 'stopped' })], oldestMs: minuteMs },
      undefined,
    ],
    [
      'nothing of one that is stopped while another takes its jobs',
      { workers: [worker({ desired: 'stopped', state: 'stopped' }), worker({ name: 'other' })] },
      undefined,
    ],
    [
      'that other nodes run the workers of a lost one',
      { workers: [worker()], nodes: [node('a'), node('b', { alive: false })], ran: { mails: ['b'] } },
      /^node-lost: The node b lost its lease: .* hangs\. Its worker "mails" runs on another node\. Check/,
    ],
    [
      'which workers of a lost node do not run anywhere',
      {
        workers: [worker(), worker({ name: 'posts', state: 'stopped', ...stored })],
        nodes: [node('b', { alive: false })],
        ran: { mails: ['b'], posts: ['b'] },
      },
      /^node-lost: .* hangs\. Of its 2 workers, 1 does not run anywhere: "posts"\. Check/,
    ],
    [
      'that nothing runs when a rollout halted',
      { workers: [worker({ rollout: { state: 'halted', version: '3.0.0', node: 'a', taken: 0, of: 0, error: 'no' } })] },
      /^rollout-halted: .* is halted: it cannot run on node a, and no node runs the worker now; one that does runs the previous version: no\./,
    ],
  ]
  for (const [title, scene, expected] of rows) {
    it(`says ${title}`, async () => {
      const found = await causes(scene)
      if (expected === undefined) assert.deepEqual(found, [])
      else
        assert.ok(
          found.some((one) => expected.test(one)),
          found.join('\n'),
        )
    })
  }
})
