import { type AttentionFact, type AttentionReport, countText, durationText, messageOf } from 'zin'
import type { QueueSample, Queues } from 'zin/plugins/queues'
import type { NodeView, Workers, WorkerView } from './contract.js'

/** The kinds of facts, and when each is listed. */
export const workerKinds = {
  'no-live-node': 'a worker should run, and no live node has run it for 15 s',
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
  readonly now: () => number
}

/** Pages of 100 workers. */
const mostPages = 20
/** How long a worker may be without a node, as during a deployment, or paused, in ms. */
const unattendedMs = 15_000
const pausedMs = 20_000
const mostText = 200

/** What needs attention of the workers and the nodes that run them. */
export async function workersReport({ now, queues, workers }: AttentionParts): Promise<AttentionReport> {
  const notChecked: { readonly kind: string; readonly reason: string }[] = []
  const [listed, nodes] = await Promise.all([listAll(workers), workers.nodes()])
  if (listed.more > 0) {
    notChecked.push({
      kind: 'other-workers',
      reason: `${countText(listed.more, 'worker')} beyond the first ${mostPages * 100} are not checked`,
    })
  }
  const unattended = listed.workers.filter(({ desired, state }) => desired === 'running' && state === 'unknown')
  let samples: ReadonlyMap<string, QueueSample> = new Map()
  try {
    if (unattended.length > 0) samples = await queues.sample([...new Set(unattended.map(({ queueName }) => queueName))])
  } catch (error) {
    notChecked.push({ kind: 'jobs-without-a-worker', reason: `How many jobs wait could not be read: ${messageOf(error)}` })
  }
  const facts = [
    ...listed.workers.flatMap(workerFacts),
    ...unattended.map((worker) => unattendedFact(worker, nodes, samples.get(worker.queueName), now())),
    ...nodes.filter(({ alive }) => !alive).map(lostNode),
  ]
  return { facts, notChecked }
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
    const cause = `The rollout of version ${version} of "${name}" is halted after ${taken} of ${countText(of, 'node')}: it cannot run on node ${node}, so that the previous version goes on: ${cut(error)}. Activate a version that runs`
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

function unattendedFact(worker: WorkerView, nodes: readonly NodeView[], sample: QueueSample | undefined, now: number): AttentionFact {
  const waiting = sample?.counts.waiting ?? 0
  const oldest = sample?.oldestWaiting
  const wait =
    sample === undefined
      ? ''
      : waiting === 0
        ? ', though no jobs wait'
        : `; ${countText(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}${oldest === undefined ? '' : `, the oldest for ${durationText(now - oldest)}`}`
  const live = countText(nodes.filter(({ alive }) => alive).length, 'live node')
  const cause = `No live node runs the worker "${worker.name}", which should run${wait}. The app has ${live}: start a process with the role worker, or check the placement of the worker`
  return { ...about(worker), kind: 'no-live-node', severity: 'bad', cause, count: Math.max(1, waiting), afterMs: unattendedMs }
}

function lostNode({ id, leaseUntil }: NodeView): AttentionFact {
  const cause = `The node ${id} lost its lease: its process has ended or hangs, and its workers have been given to other nodes. Check why it ended`
  const act = { label: 'Open the node', href: `/console/nodes/${encodeURIComponent(id)}` }
  return { kind: 'node-lost', subject: `node:${id}`, severity: 'bad', cause, since: Date.parse(leaseUntil), act }
}

/** The counts of this process that could not be stored. */
export function countsFact(fault: { readonly since: number; readonly error: string } | undefined): readonly AttentionFact[] {
  if (fault === undefined) return []
  const cause = `The counts of attempts cannot be stored, so that rates and failures are out of date; they are kept in memory until they can: ${cut(fault.error)}. Check the store of the workers`
  const act = { label: 'See the nodes', href: '/console/nodes' }
  return [{ kind: 'counts-unwritable', subject: 'app:counts', severity: 'bad', cause, since: fault.since, act }]
}

function cut(text: string): string {
  return text.length > mostText ? `${text.slice(0, mostText)}…` : text
}
