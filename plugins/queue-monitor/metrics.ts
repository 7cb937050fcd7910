import type { MetricSample } from 'zin'
import type { QueueEntry, QueueStats } from './contract.js'

/** Limit on queues with their own series; the remaining ones are summed up as `other`. */
const maxQueues = 500
const states = ['waiting', 'delayed', 'waitingChildren', 'active', 'completed', 'failed'] as const
const labels: Readonly<Record<(typeof states)[number], string>> = {
  waiting: 'waiting',
  delayed: 'delayed',
  waitingChildren: 'waiting-children',
  active: 'active',
  completed: 'completed',
  failed: 'failed',
}

type Counted = Pick<QueueEntry, (typeof states)[number] | 'oldestWaitingMs' | 'paused'>

/** Returns the metrics of the latest sample. */
export function queueMetrics({ queues }: Pick<QueueStats, 'queues'>): readonly MetricSample[] {
  const sorted = Object.entries(queues).sort(([, a], [, b]) => b.size + b.active - a.size - a.active)
  const others = sorted.slice(maxQueues).map(([, entry]) => entry)
  const shown: readonly (readonly [string, Counted])[] = [
    ...sorted.slice(0, maxQueues),
    ...(others.length === 0 ? [] : [['other', asOne(others)] as const]),
  ]
  return shown.flatMap(([queue, entry]): MetricSample[] => [
    ...states.map((state) => ({
      name: 'zin_queue_jobs',
      help: 'Jobs of a queue by state; for completed and failed, the retained jobs',
      type: 'gauge' as const,
      value: entry[state],
      labels: { queue, state: labels[state] },
    })),
    {
      name: 'zin_queue_oldest_waiting_seconds',
      help: 'How long the oldest waiting job of a queue has been ready; 0 if none is waiting',
      type: 'gauge',
      value: (entry.oldestWaitingMs ?? 0) / 1000,
      labels: { queue },
    },
    { name: 'zin_queue_paused', help: 'Whether a queue is paused: 1 or 0', type: 'gauge', value: entry.paused ? 1 : 0, labels: { queue } },
  ])
}

function asOne(entries: readonly Counted[]): Counted {
  const sum = (of: (entry: Counted) => number): number => entries.reduce((total, entry) => total + of(entry), 0)
  const counts = Object.fromEntries(states.map((state) => [state, sum((entry) => entry[state])])) as Record<(typeof states)[number], number>
  const oldest = entries.reduce((most, { oldestWaitingMs }) => Math.max(most, oldestWaitingMs ?? 0), 0)
  return { ...counts, oldestWaitingMs: oldest, paused: entries.some(({ paused }) => paused) }
}
