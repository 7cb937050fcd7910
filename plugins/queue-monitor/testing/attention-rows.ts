import assert from 'node:assert/strict'
import fs from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { databaseService } from 'zin/plugins/database'
import { healthChecksService } from 'zin/plugins/health'
import { kvService } from 'zin/plugins/kv'
import { eventually } from '../../../scripts/testing/eventually.js'
import { connectRedis, testRedisUrl } from '../../../scripts/testing/redis-client.js'
import type { AttentionLab } from './attention-lab.js'

/** How a kind of what needs attention is caused, and how it goes. */
export interface AttentionRow {
  readonly subject: RegExp
  /** The sentence, with its numbers. */
  readonly cause: RegExp
  readonly count?: number
  /** The store without which the kind cannot be checked. `memory`: none, it is known to the process. */
  readonly reads: 'tables' | 'queues' | 'memory' | 'clock'
  /** Set if it occurs, or can be caused here, on one of the backends only: why. */
  readonly servers?: string
  readonly embedded?: string
  /** It breaks what the others need: after them. */
  readonly alone?: true
  /** Nobody is told meanwhile: why. */
  readonly untold?: string
  /** Its cause ends with its process. */
  readonly ofProcess?: true
  arise(lab: AttentionLab): Promise<unknown>
  cure(lab: AttentionLab): Promise<unknown>
}

const minuteMs = 60_000
const jobs = (count: number, data: object = {}): readonly object[] => Array.from({ length: count }, () => data)
/** Of causes that end with a call. */
const cures = new WeakMap<AttentionLab, () => void>()

async function webhook(lab: AttentionLab, path: string): Promise<void> {
  await lab.ok('POST', '/api/queue/webhooks', { url: lab.receiver.url(path), queues: ['posts'], events: ['job.completed'] })
}

/** A lease that ended a second ago, of a process that is not there. */
async function lostLease(lab: AttentionLab): Promise<void> {
  const cluster = lab.host.host.view.app.name
  const info = JSON.stringify({ id: 'ghost:1:0', host: 'ghost', pid: 1, startedAt: Date.now() - minuteMs, labels: {} })
  const row = { id: 'ghost:1:0', cluster, info, lease_until: Date.now() - 1_000 }
  await lab.host.service(databaseService).tables().insertInto('zin_cluster_nodes').values(row).execute()
}

/** Every kind that a plugin declares. */
export const attentionRows: Readonly<Record<string, AttentionRow>> = {
  'worker-not-running': {
    subject: /^worker:by-hand$/,
    cause:
      /The worker "by-hand" should run, and is stopped; 300 jobs wait, the oldest for .+ does not start by itself, because its autoStart is false\. Start it/,
    count: 300,
    reads: 'tables',
    // Before causes that end with their process.
    arise: async (lab) => {
      await lab.worker('by-hand', 'one.mjs', { autoStart: false })
      await lab.workers.start('by-hand')
      await lab.restart()
      await lab.queues.addBulk(
        'by-hand',
        jobs(300).map(() => ({ name: 'x' })),
      )
    },
    cure: ({ workers }) => workers.start('by-hand'),
  },
  'no-live-node': {
    subject: /^worker:far$/,
    cause: /No live node runs the worker "far", which should run; 300 jobs wait, the oldest for .*start a process/,
    count: 300,
    reads: 'tables',
    arise: async ({ queues, workers }) => {
      const placement = { nodes: 'all', regions: ['nowhere'] } as const
      await workers.create({ name: 'far', queueName: 'far', processor: 'one.mjs', placement }, { waitMs: 0 })
      await workers.start('far', { waitMs: 0 })
      await queues.addBulk(
        'far',
        jobs(300).map(() => ({ name: 'x' })),
      )
    },
    cure: ({ workers }) => workers.stop('far'),
  },
  'worker-stopped': {
    subject: /^worker:on-leave$/,
    cause:
      /The worker "on-leave" was stopped by app .+ ago, and no other takes the jobs of its queue; 1 job waits, the oldest for 3 min\. Start it/,
    count: 1,
    reads: 'tables',
    arise: async (lab) => {
      await lab.worker('on-leave', 'one.mjs')
      await lab.workers.stop('on-leave')
      // Time passes before it is looked at.
      await lab.queues.add('on-leave', 'x', {}, { timestamp: Date.now() - 125_000 })
    },
    cure: ({ workers }) => workers.start('on-leave'),
  },
  'worker-failed': {
    subject: /^worker:failing$/,
    cause: /The worker "failing" has failed and takes no jobs until it is restarted: out of licences/,
    reads: 'tables',
    ofProcess: true,
    arise: async (lab) => {
      await lab.worker('failing', 'one.mjs')
      await lab.workers.local.fail('failing', new Error('out of licences'))
    },
    cure: ({ workers }) => workers.restart('failing'),
  },
  'node-lost': {
    subject: /^node:/,
    cause:
      /The node .+ lost its lease: its process has ended or hangs\. (Its \d+ workers run on other nodes|Its worker ".+" runs on another node|Of its \d+ workers|It is not known to have run a worker)/,
    reads: 'tables',
    alone: true,
    arise: async (lab) => (lab.hasServers ? (await lab.other()).freeze() : lostLease(lab)),
    cure: async (lab) => {
      if (lab.hasServers) process.kill((await lab.other()).pid, 'SIGCONT')
      else await lab.host.service(databaseService).tables().deleteFrom('zin_cluster_nodes').where('id', '=', 'ghost:1:0').execute()
    },
  },
  'worker-failed-on-nodes': {
    subject: /^worker:licensed$/,
    cause: /The worker "licensed" has failed on 1 node \(.+\) and runs on the others: .*no licence on this machine/,
    count: 1,
    reads: 'tables',
    servers: 'the embedded store serves one process',
    alone: true,
    arise: async (lab) => {
      await lab.other()
      await lab.workers.create({ name: 'licensed', queueName: 'licensed', processor: 'licensed.mjs' }, { waitMs: 0 })
    },
    cure: async (lab) => (await lab.other()).stop(),
  },
  'worker-paused': {
    subject: /^worker:resting$/,
    cause: /The worker "resting" is paused and takes no jobs\. Resume it/,
    reads: 'tables',
    arise: async (lab) => {
      await lab.worker('resting', 'one.mjs')
      await lab.workers.pause('resting')
    },
    cure: ({ workers }) => workers.resume('resting'),
  },
  'rollout-halted': {
    subject: /^worker:roller$/,
    cause: /The rollout of version 2\.0\.0 of "roller" is halted after 0 of 1 node: .*broken at import.*Activate a version/,
    reads: 'tables',
    arise: async (lab) => {
      await lab.worker('roller', 'one.mjs')
      await lab.workers.registerVersion('roller', { version: '2.0.0', processor: 'broken.mjs' })
      await lab.workers.activate('roller', '2.0.0').catch(() => undefined)
    },
    cure: ({ workers }) => workers.activate('roller', '1.0.0'),
  },
  'counts-unwritable': {
    subject: /^app:counts$/,
    cause: /The counts of attempts cannot be stored, so that rates and failures are out of date.*zin_worker_minutes.*Check the store/,
    reads: 'memory',
    alone: true,
    arise: async (lab) => {
      await lab.renameTable('zin_worker_minutes', 'zin_worker_minutes_away')
      await lab.enqueue('posts', jobs(1))
    },
    cure: (lab) => lab.renameTable('zin_worker_minutes_away', 'zin_worker_minutes'),
  },
  'canary-waiting': {
    subject: /^worker:birds$/,
    cause:
      /The canary 2\.0\.0 of "birds" waits in step 1 of \d steps? for a person because somebody paused it.*Resume, complete or roll it back/,
    reads: 'tables',
    arise: async (lab) => {
      await lab.worker('birds', 'one.mjs')
      await lab.workers.registerVersion('birds', { version: '2.0.0', processor: 'two.mjs' })
      await lab.ok('POST', '/api/workers/birds/canary/start', { newVersion: '2.0.0', duration: 3_600_000, steps: [50] })
      await eventually('it is paused', async () => (await lab.call('POST', '/api/workers/birds/canary/pause')).status === 200)
    },
    cure: (lab) => lab.ok('POST', '/api/workers/birds/canary/rollback'),
  },
  'circuit-open': {
    subject: /^worker:fuses$/,
    cause: /The circuit of the worker "fuses" is open, and its jobs are held: 2 jobs in a row failed/,
    reads: 'tables',
    arise: async (lab) => {
      const rules = { consecutiveFailures: 2, openMs: 3_600_000, maxOpenMs: 3_600_000, minimumJobs: 100 }
      await lab.worker('fuses', 'fails.mjs', { features: { circuitBreaker: true }, extensions: { breaker: rules } })
      await lab.enqueue('fuses', jobs(2))
    },
    cure: (lab) => lab.ok('POST', '/api/workers/fuses/circuit/reset'),
  },
  'schedule-overdue': {
    subject: /^schedule:nightly:night$/,
    cause: /The schedule "night" of the queue "nightly" was due .* ago, at .*, and has not run/,
    reads: 'queues',
    arise: ({ queues }) => queues.schedule('nightly', 'night', { every: 3_600_000 }, { name: 'x' }),
    cure: ({ queues }) => queues.queue('nightly').removeJobScheduler('night'),
  },
  'schedule-failed': {
    subject: /^schedule:hours:/,
    cause: /The last run of the schedule "hourly" of the worker "hours" failed at .*Read its error/,
    reads: 'queues',
    arise: async (lab) => {
      await lab.worker('hours', 'fails.mjs')
      await lab.workers.schedule('hours', 'hourly', { every: 3_600_000, options: { attempts: 1 } })
    },
    cure: ({ workers }) => workers.unschedule('hours', 'hourly'),
  },
  'queue-paused': {
    subject: /^queue:halted$/,
    cause: /The queue "halted" is paused, so that none of its jobs run; 2 jobs wait, the oldest for /,
    count: 2,
    reads: 'queues',
    arise: async (lab) => {
      await lab.queues.addBulk('halted', [{ name: 'x' }, { name: 'y' }])
      await lab.ok('POST', '/api/queue/halted/pause')
    },
    cure: (lab) => lab.ok('POST', '/api/queue/halted/resume'),
  },
  'queue-broken': {
    subject: /^queue:vandal$/,
    cause: /The queue "vandal" cannot be read, although its store responds; its jobs do not run: .*WRONGTYPE/,
    reads: 'queues',
    servers: 'no other program writes to the embedded store',
    alone: true,
    arise: async (lab) => {
      await lab.queues.add('vandal', 'x', {})
      await withWaitKey('vandal', async (client, key) => {
        await client.del(key)
        await client.hset(key, 'name', 'a job whose id was "wait"')
      })
    },
    cure: () => withWaitKey('vandal', (client, key) => client.del(key)),
  },
  'queue-alert': {
    subject: /^queue:crowd$/,
    cause: /Alert queue-size of the queue "crowd": 6 jobs are waiting; the threshold is 5/,
    reads: 'tables',
    arise: ({ queues }) =>
      queues.addBulk(
        'crowd',
        jobs(6).map(() => ({ name: 'x' })),
      ),
    cure: (lab) => lab.ok('POST', '/api/queue/crowd/purge?now=true', { status: 'waiting' }),
  },
  'waiting-too-long': {
    subject: /^queue:slow$/,
    cause: /1 job waits in the queue "slow", the oldest for \d+ min: longer than ever in the last day \(1 s\)\. Check its workers/,
    count: 1,
    reads: 'queues',
    arise: async (lab) => {
      const now = Date.now()
      const none = { size: 1, active: 0, oldestWaitingMs: 1_000, completed: 0, failed: 0, totalMs: 0, durations: {} }
      const minutes = Array.from({ length: 40 }, (_, i) => ({ at: Math.floor(now / minuteMs - 60 + i) * minuteMs, ...none }))
      await lab.host.service(kvService).set('monitor:history:minute:slow', JSON.stringify(minutes))
      await lab.queues.add('slow', 'x', {}, { timestamp: now - 3 * minuteMs })
    },
    cure: (lab) => lab.ok('POST', '/api/queue/slow/purge?now=true', { status: 'waiting' }),
  },
  'job-retried': {
    subject: /^job:stubborn:/,
    cause: /job .+ \(.+\) has failed \d+ of 100 attempts and is being retried/,
    reads: 'queues',
    arise: async (lab) => {
      await lab.worker('stubborn', 'shaky.mjs')
      await lab.enqueue('stubborn', jobs(1, { bad: true }), { attempts: 100, backoff: { type: 'fixed', delay: 2_000 } })
    },
    cure: async (lab) => {
      const item = (await lab.list()).items.find(({ kind }) => kind === 'job-retried') ?? assert.fail('it is listed')
      const id = encodeURIComponent(item.subject.replace(/^job:/, ''))
      // 404: an earlier call has cancelled it, and its reply came too late.
      await eventually('it is cancelled', async () => {
        const { status } = await lab.call('POST', `/api/jobs/${id}/cancel`)
        return status < 300 || status === 404
      })
    },
  },
  'version-failing': {
    subject: /^worker:shaky$/,
    cause: /version 1\.0\.0 fails 100 % of its attempts, 10 of 10 in the last hour/,
    count: 10,
    reads: 'queues',
    arise: async (lab) => {
      await lab.worker('shaky', 'shaky.mjs', { concurrency: 20 })
      await lab.enqueue('shaky', jobs(10, { bad: true }))
    },
    cure: (lab) => lab.enqueue('shaky', jobs(400)),
  },
  'webhook-failing': {
    subject: /^webhook:/,
    cause:
      /does not reach http:\/\/127\.0\.0\.1:\d+\/…: 1 delivery failed after all attempts\. The last error: The receiver responded with 500/,
    count: 1,
    reads: 'tables',
    arise: async (lab) => {
      await lab.worker('posts', 'one.mjs')
      lab.receiver.answer('/dead', (response) => response.writeHead(500).end())
      lab.receiver.answer('/gone', (response) => response.writeHead(410).end())
      await webhook(lab, '/dead')
      await webhook(lab, '/gone')
      await lab.enqueue('posts', jobs(1))
    },
    cure: async (lab) => {
      lab.receiver.answer('/dead', (response) => response.writeHead(204).end())
      await lab.enqueue('posts', jobs(1))
    },
  },
  'webhook-disabled': {
    subject: /^webhook:/,
    cause: /gets no more events, because it was disabled: .*410.*Enable it, or remove it/,
    reads: 'tables',
    // With the one that fails.
    arise: async () => undefined,
    cure: async (lab) => {
      lab.receiver.answer('/gone', (response) => response.writeHead(204).end())
      const { subject } = (await lab.list()).items.find(({ kind }) => kind === 'webhook-disabled') ?? assert.fail('it is listed')
      await lab.ok('POST', `/api/queue/webhooks/endpoints/${subject.replace('webhook:', '')}/enable`)
    },
  },
  'resource-alert': {
    subject: /^node:/,
    cause: /Alert heap of the node .+: The heap is [\d.]+ % full/,
    reads: 'tables',
    ofProcess: true,
    arise: (lab) => lab.ok('POST', '/api/resources/start'),
    cure: (lab) => lab.ok('POST', '/api/resources/stop'),
  },
  'audit-seals-unwritable': {
    subject: /^audit:log$/,
    cause: /The seals of the audit log cannot be written to the anchor file .+seals\.txt: no entry is lost.*ENOTDIR/,
    reads: 'memory',
    alone: true,
    arise: async (lab) => {
      const folder = join(lab.rootDir, 'anchor')
      await rm(folder, { recursive: true })
      await writeFile(folder, '')
      await lab.ok('POST', '/api/resources/stop')
    },
    cure: async ({ rootDir }) => {
      await rm(join(rootDir, 'anchor'))
      await mkdir(join(rootDir, 'anchor'))
    },
  },
  'audit-unwritable': {
    subject: /^audit:log$/,
    cause: /The audit log cannot be written: management actions are refused, and \d+ job outcomes? waits? to be written.*zin_audit/,
    reads: 'memory',
    alone: true,
    arise: (lab) => lab.renameTable('zin_audit', 'zin_audit_away'),
    cure: (lab) => lab.renameTable('zin_audit_away', 'zin_audit'),
  },
  'erasure-failed': {
    subject: /^erasure:/,
    cause: /The erasure .+ of the data of a subject failed after 0 jobs: .*the archive is read-only.*Request it again/,
    reads: 'tables',
    arise: async (lab) => {
      lab.keepsData = true
      assert.equal((await lab.call('DELETE', '/api/compliance/subjects/ann?wait=10000')).status, 503)
    },
    cure: async (lab) => {
      lab.keepsData = false
      await lab.ok('DELETE', '/api/compliance/subjects/ann?wait=10000')
    },
  },
  'erasure-waiting': {
    subject: /^erasure:slow$/,
    cause: /The erasure slow of the data of a subject waits for 2 running jobs\. GET \/api\/compliance\/erasures\/slow names them/,
    count: 2,
    reads: 'tables',
    // As another process has stored it, which goes on.
    arise: async (lab) => {
      const { tables } = lab.host.service(databaseService)
      const at = { requested_at: lab.now() - 11 * minuteMs, updated_at: lab.now() + 100 * minuteMs }
      const counts = { erased: 0, pending: 2, elsewhere: 0, error: null }
      const actor = JSON.stringify({ kind: 'local', id: 'local', via: 'http' })
      const row = { id: 'slow', subject: 'd'.repeat(32), state: 'waiting', ...counts, actor, digests: null, ...at }
      await tables().insertInto('zin_erasures').values(row).execute()
    },
    cure: async (lab) => {
      await lab.host.service(databaseService).tables().deleteFrom('zin_erasures').where('id', '=', 'slow').execute()
    },
  },
  'store-unavailable': {
    subject: /^check:database-writes$/,
    cause: /The store "database-writes" cannot be read or written, so that the app is not ready: the disk of .+ is full/,
    reads: 'memory',
    embedded: 'the servers are shared by tests; they are cut off in the last one',
    untold: 'deliveries are stored on the same disk',
    alone: true,
    arise: async (lab) => void cures.set(lab, fullDisk(join(lab.rootDir, 'data'))),
    cure: async (lab) => cures.get(lab)?.(),
  },
  'health-check': {
    subject: /^check:printer$/,
    cause: /The health check "printer" fails: out of paper/,
    reads: 'memory',
    ofProcess: true,
    arise: async (lab) => {
      const run = (): never => {
        throw new Error('out of paper')
      }
      lab.host.service(healthChecksService).register({ name: 'printer', kind: 'info', run })
    },
    // It ends with its process.
    cure: async () => undefined,
  },
  'clock-off': {
    subject: /^node:/,
    cause: /On node .+, the clock of this node is 400 s ahead of that of .+; all other clocks agree.*Check the time/,
    reads: 'clock',
    servers: 'SQLite and the embedded store use the clock of this machine',
    alone: true,
    arise: async (lab) => lab.setClock(400_000),
    cure: async (lab) => lab.setClock(0),
  },
}

async function withWaitKey(
  queue: string,
  work: (client: Awaited<ReturnType<typeof connectRedis>>, key: string) => Promise<unknown>,
): Promise<void> {
  const client = await connectRedis(testRedisUrl, { name: 'vandal', keyPrefix: '' })
  try {
    const meta = (await client.keys(`*:${queue}:meta`))[0] ?? assert.fail('the queue exists')
    await work(client, meta.replace(/meta$/, 'wait'))
  } finally {
    client.disconnect()
  }
}

/** Reports one free byte on the disk of a folder to this process; the returned function ends it. */
function fullDisk(folder: string): () => void {
  const { statfsSync } = fs
  const full = (...args: Parameters<typeof statfsSync>) =>
    Object.assign(statfsSync(...args), args[0] === folder ? { bsize: 1, bavail: 1 } : {})
  const set = (one: unknown): void => {
    Object.assign(fs, { statfsSync: one })
    syncBuiltinESMExports()
  }
  set(full)
  return () => set(statfsSync)
}
