// Builds the items of the attention list. Pure.
import type { Breaker } from 'zin/plugins/breaker'
import type { Canaries } from 'zin/plugins/canary'
import type { HealthClock } from 'zin/plugins/health'
import type { JobDetails, QueueEntry } from 'zin/plugins/queue-monitor'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import { duration, exact, percent, plural } from '../app/format.js'
import type { FailingVersion, VersionShare } from '../shared/failing-versions.js'

/** Something that needs the attention of an operator. */
export interface AttentionItem {
  readonly tone: 'bad' | 'warn'
  readonly kind: 'worker' | 'version' | 'node' | 'breaker' | 'canary' | 'job' | 'clock'
  readonly subject: string
  /** The queue whose attempts fail because of it. */
  readonly queue?: string
  /** What is wrong, with numbers. */
  readonly text: string
  /** The error of a job, which is part of its payload: for callers with `payload:read`. */
  readonly error?: string
  /** ISO 8601; absent if unknown. */
  readonly since?: string
  /** Path in the console for details. */
  readonly to: string
}

const mostText = 200
const workerPage = (name: string): string => `/workers/${encodeURIComponent(name)}`

/** What is wrong with a worker: it has failed, on some nodes or on all, or its last version cannot run. */
export function troubleOf({ failedOn = [], lastError, name, queueName, rollout, state, updatedAt }: WorkerView): readonly AttentionItem[] {
  const item = { subject: name, queue: queueName, to: workerPage(name) }
  const why = lastError === undefined ? '' : `: ${cut(lastError.split('\n')[0] ?? '')}`
  if (state === 'FAILED') {
    const text = `has failed and takes no jobs until it is restarted${why}`
    return [{ ...item, tone: 'bad', kind: 'worker', text, since: updatedAt }]
  }
  const halted: readonly AttentionItem[] =
    rollout?.state === 'halted'
      ? [
          {
            ...item,
            tone: 'warn',
            kind: 'version',
            text: `version ${rollout.version} cannot run on node ${rollout.node}, so that the previous version goes on: ${cut(rollout.error ?? '')}`,
            ...(rollout.at === undefined ? {} : { since: rollout.at }),
          },
        ]
      : []
  if (failedOn.length === 0) return halted
  const text = `has failed on ${plural(failedOn.length, 'node')} (${cut(failedOn.join(', '))}) and runs on the others${why}`
  return [...halted, { ...item, tone: 'bad', kind: 'worker', text, since: updatedAt }]
}

export function wrongClock(problem: HealthClock['problem']): readonly AttentionItem[] {
  if (problem === undefined) return []
  return [{ tone: problem.isWrong ? 'bad' : 'warn', kind: 'clock', subject: 'clock', text: problem.text, to: '/nodes' }]
}

export function lostNode({ id, leaseUntil }: Awaited<ReturnType<Workers['nodes']>>[number]): AttentionItem {
  const text = 'lost its lease; its workers have been reassigned to other nodes'
  return { tone: 'bad', kind: 'node', subject: id, text, since: leaseUntil, to: `/nodes/${encodeURIComponent(id)}` }
}

export function openCircuits(
  { name, queueName }: WorkerView,
  { circuits }: Awaited<ReturnType<Breaker['status']>>,
): readonly AttentionItem[] {
  return circuits.map((circuit) => ({
    tone: circuit.state === 'open' ? 'bad' : 'warn',
    kind: 'breaker',
    subject: circuit.jobName === null ? name : `${name} (${circuit.jobName})`,
    queue: queueName,
    since: circuit.since,
    text:
      circuit.state === 'open'
        ? `circuit is open and its jobs are held: ${circuit.reason}`
        : `circuit is half-open and probing: ${circuit.reason}`,
    to: workerPage(name),
  }))
}

export function waitingCanary(canary: Awaited<ReturnType<Canaries['status']>> | undefined): readonly AttentionItem[] {
  if (canary?.state !== 'PAUSED') return []
  const { canary: version, evidence, pausedFor, updatedAt, worker } = canary
  const text = `canary ${version.version} is waiting for a decision${pausedFor === undefined ? '' : ` (${pausedFor})`}: ${evidence.reason}`
  return [{ tone: 'warn', kind: 'canary', subject: worker, text, since: updatedAt, to: workerPage(worker) }]
}

/** A job that fails repeatedly. The tone is `bad` if other jobs of its queue wait and none completes. */
export function retriedJob(
  { attempts, createdAt, error, id, maxAttempts, name, queue }: JobDetails,
  entry: QueueEntry | undefined,
): AttentionItem {
  const others = Math.max(0, (entry?.waiting ?? 0) - 1)
  const held = others > 0 && (entry?.throughput ?? 0) === 0
  const oldest = entry?.oldestWaitingMs ?? null
  const waiting = oldest === null ? '' : `, the oldest for ${duration(oldest)}`
  return {
    tone: held ? 'bad' : 'warn',
    kind: 'job',
    subject: queue,
    queue,
    text: [
      `job ${id} (${cut(name)}) has failed ${exact(attempts)} of ${exact(maxAttempts)} attempts and is being retried`,
      held ? `, while ${plural(others, 'job')} wait${others === 1 ? 's' : ''}${waiting}` : '',
    ].join(''),
    ...(error === null ? {} : { error: cut(error.split('\n')[0] ?? '') }),
    since: createdAt,
    to: `/queues/${encodeURIComponent(queue)}/jobs/${encodeURIComponent(id)}`,
  }
}

export function failingVersion({ beside, worker, ...own }: FailingVersion, queue: string): AttentionItem {
  const other = beside === undefined ? '' : `; version ${beside.version} fails ${shareOf(beside)}`
  const text = `version ${own.version} fails ${shareOf(own)} of its attempts, ${exact(own.failed)} of ${exact(own.attempts)} in the last hour${other}`
  return { tone: 'warn', kind: 'version', subject: worker, queue, text, to: workerPage(worker) }
}

function shareOf({ attempts, failed }: VersionShare): string {
  return percent(failed / attempts)
}

function cut(text: string): string {
  return text.length > mostText ? `${text.slice(0, mostText)}…` : text
}
