import { useEffect, useRef } from 'preact/hooks'
import type { ScalingStatus } from 'zin/plugins/autoscale'
import type { DecisionPage } from 'zin/plugins/decisions'
import type { ConsoleData } from '../../../contract.js'
import { isEnabled, refreshInterval } from '../../data/session.js'
import { paused, useStream } from '../../data/stream.js'
import { useData } from '../../data/use-data.js'
import { path } from '../../router.js'
import { isLive } from './canary-words.js'
import type {
  CanaryResponse,
  CircuitResponse,
  CountsResponse,
  HealthResponse,
  NodesResponse,
  StatusResponse,
  VersionsResponse,
  WorkerResponse,
} from './types.js'

/** Events are batched for this long before the data is read again, in ms. */
const gatherMs = 500
const mostDecisions = 6

export interface WorkerData {
  readonly worker: ConsoleData<WorkerResponse>
  readonly status: ConsoleData<StatusResponse>
  readonly nodes: ConsoleData<NodesResponse>
  readonly versions: ConsoleData<VersionsResponse>
  readonly health: ConsoleData<HealthResponse>
  readonly counts: ConsoleData<CountsResponse>
  readonly canary: ConsoleData<CanaryResponse>
  readonly circuit: ConsoleData<CircuitResponse>
  readonly autoscale: ConsoleData<ScalingStatus>
  readonly decisions: ConsoleData<DecisionPage>
  /** Reads again what an action or an event may have changed. */
  readonly reload: () => void
}

/** Loads all data about a worker: updated by events where the app sends them, otherwise polled. */
export function useWorker(name: string): WorkerData {
  const base = path`/api/workers/${name}`
  const of = (plugin: string, part: string) => (isEnabled(plugin) ? `${base}/${part}` : undefined)
  const slow = { refresh: 3 * refreshInterval() }
  const subject = encodeURIComponent(`worker:${name}`)
  const worker = useData<WorkerResponse>(base)
  const versions = useData<VersionsResponse>(`${base}/versions`)
  const scales = worker.data?.worker.features.autoScaling === true
  // A worker with a single version has never had a canary.
  const canary = useData<CanaryResponse>((versions.data?.versions.length ?? 0) > 1 ? of('canary', 'canary/status') : undefined)
  const read = {
    worker,
    status: useData<StatusResponse>(`${base}/status`, slow),
    nodes: useData<NodesResponse>(`${base}/nodes`, slow),
    versions,
    health: useData<HealthResponse>(of('worker-health', 'health'), slow),
    counts: useData<CountsResponse>(`${base}/counts?byMinute=true&byVersion=true`, { refresh: 15_000 }),
    canary,
    circuit: useData<CircuitResponse>(of('breaker', 'circuit')),
    autoscale: useData<ScalingStatus>(scales ? of('autoscale', 'autoscale') : undefined, slow),
    decisions: useData<DecisionPage>(isEnabled('decisions') ? `/api/decisions?subject=${subject}&limit=${mostDecisions}` : undefined),
  }
  const reload = useGathered(() => {
    for (const part of [read.worker, read.status, read.nodes, read.versions, read.canary, read.circuit, read.decisions]) part.reload()
  })
  useStream(`/api/workers/events?worker=${encodeURIComponent(name)}`, () => reload())
  useStream(isEnabled('decisions') ? `/api/decisions/events?subject=${subject}` : undefined, () => reload())
  useRepeated(canary.data !== undefined && isLive(canary.data.canary) ? refreshInterval() : undefined, canary.reload)
  return { ...read, reload }
}

/** Batches calls: runs `work` once for all calls within a short time. */
function useGathered(work: () => void): () => void {
  const latest = useRef(work)
  latest.current = work
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, gatherMs)
  }
}

/** Runs `work` at an interval, only while the tab is visible. */
function useRepeated(everyMs: number | undefined, work: () => void): void {
  const latest = useRef(work)
  latest.current = work
  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => document.hidden || paused.value || latest.current(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
}
