import type { Gate, HookSpecs, Notify, Settle, Waterfall } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { QueueAlert } from './alerts/alerts.js'

/** Somebody is about to see the payload of a job. */
export interface PayloadView {
  readonly queue: string
  readonly jobId: string
  readonly actor: Actor
  /** `payload`: the data in a list or in details. `download`: the data as a file. `logs`: the log of the job. `copy`: the data for another job. */
  readonly what: 'payload' | 'download' | 'logs' | 'copy'
  /** Whether the permission payload:read was given to the actor by name; false: nothing restricts it. */
  readonly granted: boolean
}

/** An operator has acted on jobs or a queue. */
export interface MonitorAction {
  readonly action: 'retry' | 'cancel' | 'promote' | 'delete' | 'purge' | 'undo' | 'add' | 'duplicate' | 'pause' | 'resume'
  readonly queue: string
  /** Absent: many jobs, or the queue itself. */
  readonly jobId?: string
  /** Number of jobs that were changed. */
  readonly jobs: number
  readonly actor: Actor
}

/** An operator has changed an endpoint of webhooks, or sent a delivery again. */
export interface WebhookChange {
  readonly action: 'add' | 'update' | 'remove' | 'enable' | 'disable' | 'resend'
  /** Id of the endpoint. */
  readonly endpoint: string
  /** The origin of its URL; absent with `resend`. */
  readonly target?: string
  /** Id of the delivery, with `resend`. */
  readonly delivery?: string
  readonly actor: Actor
}

/** Hooks that the plugin fires. */
export interface QueueMonitorHooks {
  beforePayloadView: Gate<[view: PayloadView]>
  redactPayload: Waterfall<unknown, [queue: string]>
  beforeJobRetry: Gate<[queue: string, jobId: string]>
  onMonitorAction: Settle<[action: MonitorAction]>
  onQueueAlert: Notify<[alert: QueueAlert]>
  onWebhookChange: Settle<[change: WebhookChange]>
}

export const queueMonitorHooks = {
  beforePayloadView: {
    kind: 'gate',
    args: ['view'],
    summary: 'Somebody is about to see the payload or the log of a job; deny to refuse it',
  },
  redactPayload: {
    kind: 'waterfall',
    args: ['payload', 'queue'],
    summary: 'A payload that somebody is about to see, after the redaction by the option `redact`',
  },
  beforeJobRetry: { kind: 'gate', args: ['queue', 'jobId'], summary: 'An operator is about to retry a failed job; deny to refuse it' },
  onMonitorAction: {
    kind: 'settle',
    args: ['action'],
    summary: 'An operator has acted on jobs or on a queue; its caller receives the response afterwards',
  },
  onQueueAlert: {
    kind: 'notify',
    args: ['alert'],
    summary: 'An alert of a queue was raised or cleared; fires on the node that samples the queues',
  },
  onWebhookChange: {
    kind: 'settle',
    args: ['change'],
    summary: 'An operator has added, changed, enabled, disabled or removed an endpoint of webhooks, or sent a delivery again',
  },
} satisfies HookSpecs<QueueMonitorHooks>

declare module 'zin' {
  interface HookMap extends QueueMonitorHooks {}
}
