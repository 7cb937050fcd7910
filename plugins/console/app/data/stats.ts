import { useEffect, useState } from 'preact/hooks'
import type { QueueStats } from 'zin/plugins/queue-monitor'
import type { ConsoleData } from '../../contract.js'
import { useStream } from './stream.js'
import { useData } from './use-data.js'

/** The statistics of all queues: read once, then updated by the event stream. */
export function useStats(): ConsoleData<QueueStats> {
  const first = useData<QueueStats>('/api/queue/stats')
  const [streamed, set] = useState<{ readonly data: QueueStats; readonly at: number } | undefined>(undefined)
  const [problem, setProblem] = useState<ConsoleData<QueueStats>['error']>(undefined)
  useStream('/api/queue/events', (event, data) => {
    if (event === 'stats') {
      set({ data: data as QueueStats, at: Date.now() })
      setProblem(undefined)
    } else if (event === 'unavailable') setProblem({ status: 503, ...(data as { code: string; message: string }) })
  })
  useEffect(() => {
    if (streamed !== undefined && first.data === undefined && first.error !== undefined) first.reload()
  }, [streamed === undefined])
  const newest = streamed ?? (first.data === undefined ? undefined : { data: first.data, at: first.at ?? 0 })
  return {
    data: newest?.data,
    error: problem ?? (streamed === undefined ? first.error : undefined),
    loading: newest === undefined && first.loading,
    at: newest?.at,
    reload: first.reload,
  }
}
