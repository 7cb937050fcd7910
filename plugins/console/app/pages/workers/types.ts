import type { BreakerStatus } from 'zin/plugins/breaker'
import type { CanaryView } from 'zin/plugins/canary'
import type { HealthTerm, VersionView, WorkerOnNode, WorkerStatus, WorkerView } from 'zin/plugins/workers'

// API responses used by the page of a worker.

export interface WorkerResponse {
  readonly worker: WorkerView
}

export interface StatusResponse {
  readonly status: WorkerStatus
}

export interface NodesResponse {
  readonly nodes: readonly WorkerOnNode[]
}

export interface VersionsResponse {
  readonly versions: readonly VersionView[]
}

export interface HealthResponse {
  readonly health: {
    readonly score: number
    readonly terms: readonly HealthTerm[]
    readonly monitored: boolean
    readonly checks: readonly { readonly node: string; readonly healthy: boolean; readonly error?: string; readonly at: string }[]
  }
}

/** Attempt counts by minute, by version or both. */
export interface Counts {
  readonly minute?: string
  readonly version?: string
  readonly completed: number
  readonly failed: number
  readonly p95Ms: number | null
}

export interface CountsResponse {
  readonly minutes: number
  readonly counts: readonly Counts[]
}

export interface CanaryResponse {
  readonly canary: CanaryView
}

export interface CircuitResponse {
  readonly circuit: BreakerStatus
}
