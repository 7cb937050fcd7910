import { type AttentionFact, type AttentionReport, countText, durationText, messageOf } from 'zin'
import type { QueueSample, Queues } from 'zin/plugins/queues'
import { type AutoStartSettings, autoStart } from './auto-start.js'
import type { NodeView, Workers, WorkerView } from './contract.js'
import type { ReportedStatus } from './shared/contract.js'

/** The kinds of facts, and when each is listed. */
export const workerKinds = {
  'no-live-node': 'a worker should run, and no live node has run it for 15 s',
  'worker-not-running': 'a worker should run, and live nodes have not run it for 30 s',
  'worker-stopped': 'a worker is stopped, and jobs have waited in its queue for two minutes',
  'worker-failed': 'a worker has failed on all its nodes',
  'worker-failed-on-nodes': 'a worker has failed on some of its nodes',
  'worker-paused': 'a worker has been paused for 20 s',
  'rollout-halted': 'a node could not run a version, and the previous one goes on',
  'node-lost': 'a process lost its lease in the last five minutes',
  'counts-unwritable': 'a process cannot store the counts of attempts',
} as const

export interface AttentionParts {
  readonly workers: Pick<Workers, 'list' | 'nodes'>
  readonly queues: Pick<Queues, 'sample'>
  /** The statuses of workers on all nodes, including lost ones. */
  readonly statuses: (names: readonly string[]) => Promise<ReadonlyMap<string, readonly ReportedStatus[]>>
  /** Of this process. */
  readonly rule: AutoStartSettings
  readonly now: () => number
}

/** Pages of 100 workers. */
const mostPages = 20
/** How long a worker may be without a node, as during a deployment, not running, or paused, in ms. */
const unattendedMs = 15_000
const startMs = 30_000
const pausedMs = 20_000
/** How long jobs wait for a stopped worker before a person is told, in ms. */
const leastWaitMs = 120_000
const mostText = 200

/** What needs attention of the workers and the nodes that run them. */
export async function workersReport({ now, queues, rule, statuses, workers }: AttentionParts): Promise<AttentionReport> {
  const notChecked: { readonly kind: string; readonly reason: string }[] = []
  const [listed, nodes] = await Promise.all([listAll(workers), workers.nodes()])
  if (listed.more > 0) {
    notChecked.push({
      kind: 'other-workers',
      reason: `${countText(listed.more, 'worker')} beyond the first ${mostPages * 100} are not checked`,
    })
  }
  const idle = listed.workers.filter(({ desired, state }) => (desired === 'running' ? notRunning : resting).has(state))
  let samples: ReadonlyMap<string, QueueSample> = new Map()
  try {
    if (idle.length > 0) samples = await queues.sample([...new Set(idle.map(({ queueName }) => queueName))])
  } catch (error) {
    notChecked.push({ kind: 'worker-stopped', reason: `How many jobs wait could not be read: ${messageOf(error)}` })
  }
  const served = new Set(listed.workers.filter(({ state }) => state === 'running').map(({ queueName }) => queueName))
  const facts = [
    ...listed.workers.flatMap(workerFacts),
    ...idle.flatMap((worker) => {
      const scene = { nodes, sample: samples.get(worker.queueName), rule, isServed: served.has(worker.queueName), now: now() }
      if (worker.desired === 'stopped') return stoppedFacts(worker, scene)
      return worker.state === 'unknown' ? unattendedFact(worker, scene) : notRunningFact(worker, scene)
    }),
    ...(await lostNodes(nodes, listed.workers, statuses)),
  ]
  return { facts, notChecked }
}

/** States of a worker that should run and takes no jobs, and of one that should not. */
const notRunning: ReadonlySet<WorkerView['state']> = new Set(['unknown', 'stopped', 'starting', 'stopping'])
const resting: ReadonlySet<WorkerView['state']> = new Set(['unknown', 'stopped'])

/** What the fact about a worker that takes no jobs depends on. */
interface Scene {
  readonly nodes: readonly NodeView[]
  readonly sample: QueueSample | undefined
  readonly rule: AutoStartSettings
  /** Whether another worker takes the jobs of its queue. */
  readonly isServed: boolean
  readonly now: number
}

async function listAll(workers: Pick<Workers, 'list'>): Promise<{ readonly workers: readonly WorkerView[]; readonly more: number }> {
  const found: WorkerView[] = []
  for (let page = 1; ; page++) {
    const { pagination, workers: some } = await workers.list({ page, limit: 100 })
    found.push(...some)
    if (page >= pagination.totalPages || page >= mostPages) return { workers: found, more: Math.max(0, pagination.total - found.length) }
  }
}

function about({ name, queueName }: WorkerView) {
  return {
    subject: `worker:${name}`,
    queue: queueName,
    act: { label: 'Open the worker', href: `/console/workers/${encodeURIComponent(name)}` },
  }
}

/** What is wrong with a worker that runs, or has failed. Pure. */
export function workerFacts(worker: WorkerView): readonly AttentionFact[] {
  const { desired, failedOn = [], lastError, name, paused, rollout, state } = worker
  const fact = about(worker)
  const why = lastError === undefined ? '' : `: ${cut(lastError.split('\n')[0] ?? '')}`
  if (state === 'FAILED') {
    const cause = `The worker "${name}" has failed and takes no jobs until it is restarted${why}`
    return [{ ...fact, kind: 'worker-failed', severity: 'bad', cause }]
  }
  const found: AttentionFact[] = []
  if (rollout?.state === 'halted') {
    const { at, error = '', node, of, taken, version } = rollout
    const [after, goesOn] =
      of === 0
        ? ['', 'and no node runs the worker now; one that does runs the previous version']
        : [` after ${taken} of ${countText(of, 'node')}`, 'so that the previous version goes on']
    const cause = `The rollout of version ${version} of "${name}" is halted${after}: it cannot run on node ${node}, ${goesOn}: ${cut(error)}. Activate a version that runs`
    found.push({ ...fact, kind: 'rollout-halted', key: version, cause, ...(at === undefined ? {} : { since: Date.parse(at) }) })
  }
  if (failedOn.length > 0) {
    const cause = `The worker "${name}" has failed on ${countText(failedOn.length, 'node')} (${cut(failedOn.join(', '))}) and runs on the others${why}`
    found.push({ ...fact, kind: 'worker-failed-on-nodes', severity: 'bad', cause, count: failedOn.length })
  }
  if (desired === 'running' && paused) {
    const cause = `The worker "${name}" is paused and takes no jobs. Resume it when it may go on`
    found.push({ ...fact, kind: 'worker-paused', cause, afterMs: pausedMs })
  }
  return found
}

function unattendedFact(worker: WorkerView, { nodes, now, sample }: Scene): AttentionFact {
  const draining = drainText(nodes)
  const live = countText(nodes.filter(({ alive }) => alive).length, 'live node')
  const wait = waitText(sample, now)
  const remedy = `${draining === '' ? `The app has ${live}` : draining}: start a process with the role worker, or check the placement of the worker`
  const cause = `No live node runs the worker "${worker.name}", which should run${wait}. ${remedy}`
  const count = Math.max(1, sample?.counts.waiting ?? 0)
  return { ...about(worker), kind: 'no-live-node', severity: 'bad', cause, count, afterMs: unattendedMs }
}

/** A worker that should run, and that live nodes do not run. */
function notRunningFact(worker: WorkerView, { nodes, now, rule, sample }: Scene): AttentionFact {
  const { lastError, name, state } = worker
  const start = autoStart(rule, worker)
  const draining = drainText(nodes)
  const why =
    lastError !== undefined
      ? `: ${cut(lastError.split('\n')[0] ?? '')}. Restart it`
      : state === 'starting'
        ? '. Check what its code waits for'
        : draining !== ''
          ? `. ${draining}, or start another process with the role worker`
          : state === 'stopping'
            ? '. It waits for its running jobs; look at them'
            : start.start
              ? '. Start it'
              : `. After a restart of its process it does not start by itself, because ${start.reason}. Start it, and see WORKER_AUTO_START and its autoStart`
  const cause = `The worker "${name}" should run, and is ${state}${waitText(sample, now)}${why}`
  const count = Math.max(1, sample?.counts.waiting ?? 0)
  return { ...about(worker), kind: 'worker-not-running', severity: 'bad', cause, count, afterMs: startMs }
}

/** A worker that was stopped while jobs wait in its queue. */
function stoppedFacts(worker: WorkerView, { isServed, now, sample }: Scene): readonly AttentionFact[] {
  const { name, stopped } = worker
  const { counts, oldestWaiting = now, paused } = sample ?? {}
  const waiting = counts?.waiting ?? 0
  if (waiting === 0 || paused === true || isServed || now - oldestWaiting < leastWaitMs) return []
  const who =
    stopped === undefined ? 'has not been started' : `was stopped by ${cut(stopped.by)} ${durationText(now - Date.parse(stopped.at))} ago`
  const cause = `The worker "${name}" ${who}, and no other takes the jobs of its queue${waitText(sample, now)}. Start it when they may run`
  return [{ ...about(worker), kind: 'worker-stopped', cause, count: waiting, afterMs: pausedMs }]
}

function waitText(sample: QueueSample | undefined, now: number): string {
  if (sample === undefined) return ''
  const { counts, oldestWaiting: oldest } = sample
  const { waiting } = counts
  if (waiting === 0) return ', though no jobs wait'
  return `; ${countText(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}${oldest === undefined ? '' : `, the oldest for ${durationText(now - oldest)}`}`
}

/** The nodes that take no jobs because somebody drains them; empty if there are none. */
function drainText(nodes: readonly NodeView[]): string {
  const ids = nodes.filter(({ alive, consumes, draining }) => alive && consumes && draining).map(({ id }) => id)
  const [first] = ids
  if (first === undefined) return ''
  const others = ids.length === 1 ? 'The node' : `${ids.length} nodes drain, such as`
  return `${others} ${first}${ids.length === 1 ? ' drains' : ''} and takes no jobs: let it take jobs again with "zin node:drain ${first} --undo"`
}

/** The nodes that were lost, and what became of the workers that ran there. */
async function lostNodes(
  nodes: readonly NodeView[],
  workers: readonly WorkerView[],
  statuses: AttentionParts['statuses'],
): Promise<readonly AttentionFact[]> {
  const lost = nodes.filter(({ alive }) => !alive)
  if (lost.length === 0) return []
  const wanted = workers.filter(({ desired }) => desired === 'running')
  const reported = await statuses(wanted.map(({ name }) => name))
  return lost.map(({ id, leaseUntil }) => {
    const ran = wanted.filter(({ name }) =>
      reported.get(name)?.some(({ alive, node, state }) => !alive && node === id && state !== 'stopped'),
    )
    const cause = `The node ${id} lost its lease: its process has ended or hangs. ${fateText(ran)}. Check why it ended`
    const act = { label: 'Open the node', href: `/console/nodes/${encodeURIComponent(id)}` }
    return { kind: 'node-lost', subject: `node:${id}`, severity: 'bad', cause, since: Date.parse(leaseUntil), act }
  })
}

function fateText(ran: readonly WorkerView[]): string {
  const [first] = ran
  if (first === undefined) return 'It is not known to have run a worker that should run'
  const down = ran.filter(({ state }) => state !== 'running' && state !== 'paused')
  if (ran.length === 1) return `Its worker "${first.name}" ${down.length === 0 ? 'runs on another node' : 'does not run anywhere'}`
  if (down.length === 0) return `Its ${ran.length} workers run on other nodes`
  const names = `${down
    .slice(0, 3)
    .map(({ name }) => `"${name}"`)
    .join(', ')}${down.length > 3 ? ' and others' : ''}`
  return `Of its ${ran.length} workers, ${down.length} ${down.length === 1 ? 'does' : 'do'} not run anywhere: ${names}`
}

/** The counts of this process that could not be stored. */
export function countsFact(fault: { readonly since: number; readonly error: string } | undefined): readonly AttentionFact[] {
  if (fault === undefined) return []
  const cause = `The counts of attempts cannot be stored, so that rates and failures are out of date; they are kept in memory until they can: ${cut(fault.error)}. Check the store of the workers`
  const act = { label: 'See the health of the app', href: '/console/health' }
  return [{ kind: 'counts-unwritable', subject: 'app:counts', severity: 'bad', cause, since: fault.since, act }]
}

function cut(text: string): string {
  return text.length > mostText ? `${text.slice(0, mostText)}…` : text
}
