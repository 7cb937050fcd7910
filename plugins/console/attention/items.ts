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
  /** ISO 8601; absent if unknown. */
  readonly since?: string
  /** Path in the console for details. */
  readonly to: string
}

const mostText = 200
const workerPage = (name: string): string => `/workers/${encodeURIComponent(name)}`

export function failedWorker({ name, updatedAt }: WorkerView): AttentionItem {
  const text = 'has failed and takes no jobs until it is restarted'
  return { tone: 'bad', kind: 'worker', subject: name, text, since: updatedAt, to: workerPage(name) }
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
      error === null ? '' : `: ${cut(error.split('\n')[0] ?? '')}`,
    ].join(''),
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
