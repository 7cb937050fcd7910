import type { Decision } from 'zin/plugins/decisions'
import type { ResourceTrend, ResourceUsage } from 'zin/plugins/resources'

// API responses of the plugin resources.

export interface Alert {
  readonly node: string
  readonly rule: string
  readonly since: string
  readonly value: number
  readonly threshold: number
  readonly reason: string
}

export interface Snapshot extends ResourceUsage {
  readonly node: string
  readonly at: string
  readonly spanMs: number
  readonly alerts: readonly Omit<Alert, 'node'>[]
}

export interface CurrentResponse {
  readonly monitoring: { readonly running: boolean; readonly reason: string }
  readonly current: readonly Snapshot[]
}

export interface HistoryResponse {
  readonly hours: number
  readonly resolution: 'fine' | 'coarse'
  readonly truncated: boolean
  readonly history: readonly Snapshot[]
}

export interface AlertsResponse {
  readonly alerts: readonly Alert[]
  readonly recent: readonly Decision[]
}

export interface TrendsResponse {
  readonly trends: readonly ResourceTrend[]
}
