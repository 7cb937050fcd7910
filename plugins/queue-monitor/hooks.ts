import type { Gate, HookSpecs, Notify, Settle, Waterfall } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { QueueAlert } from './alerts/alerts.js'

/** An access to the payload or log of a job. */
export interface PayloadView {
  readonly queue: string
  readonly jobId: string
  readonly actor: Actor
  /**
   * `payload`: the data in a list or in details. `download`: the data as a file. `logs`: the log of the job. `copy`: the data for another
   * job.
   */
  readonly what: 'payload' | 'download' | 'logs' | 'copy'
  /** Whether the permission payload:read was granted to the actor explicitly; false if access is unrestricted by default. */
  readonly granted: boolean
}

/** An action of an operator on jobs or a queue. */
export interface MonitorAction {
  readonly action: 'retry' | 'cancel' | 'promote' | 'delete' | 'purge' | 'undo' | 'add' | 'duplicate' | 'pause' | 'resume'
  readonly queue: string
  /** Absent for actions on many jobs or on the queue itself. */
  readonly jobId?: string
  /** Number of jobs that were changed. */
  readonly jobs: number
  readonly actor: Actor
}

/** A change of a webhook endpoint, or a resent delivery. */
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

/** Hooks fired by the plugin. */
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
    summary: 'The payload or log of a job is about to be shown or copied; deny to prevent it',
  },
  redactPayload: {
    kind: 'waterfall',
    args: ['payload', 'queue'],
    summary: 'A payload that is about to be shown, after redaction by the option `redact`',
  },
  beforeJobRetry: { kind: 'gate', args: ['queue', 'jobId'], summary: 'An operator is about to retry a failed job; deny to prevent it' },
  onMonitorAction: {
    kind: 'settle',
    args: ['action'],
    summary: 'An operator has acted on jobs or on a queue; the response is sent after all listeners have finished',
  },
  onQueueAlert: {
    kind: 'notify',
    args: ['alert'],
    summary: 'A queue alert was raised or cleared; fires on the node that samples the queues',
  },
  onWebhookChange: {
    kind: 'settle',
    args: ['change'],
    summary: 'An operator has added, changed, enabled, disabled or removed a webhook endpoint, or resent a delivery',
  },
} satisfies HookSpecs<QueueMonitorHooks>

declare module 'zin' {
  interface HookMap extends QueueMonitorHooks {}
}
