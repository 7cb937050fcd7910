import type { HookSpecs, Notify, Settle } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { QueueAlert } from './alerts/alerts.js'
import type { AttentionItem } from './attention/item.js'

/** An action of an operator on jobs or a queue. */
export interface MonitorAction {
  readonly action: 'retry' | 'flow.retry' | 'cancel' | 'promote' | 'delete' | 'purge' | 'undo' | 'add' | 'duplicate' | 'pause' | 'resume'
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

/** Something that began to need attention, or no longer does. */
export interface AttentionChange {
  readonly state: 'raised' | 'cleared'
  readonly item: AttentionItem
  /** The same for the change that begins and the one that ends it; an item may come back. */
  readonly episode: string
  /** ISO 8601. */
  readonly at: string
}

/** Hooks fired by the plugin. */
export interface QueueMonitorHooks {
  onMonitorAction: Settle<[action: MonitorAction]>
  onQueueAlert: Notify<[alert: QueueAlert]>
  onWebhookChange: Settle<[change: WebhookChange]>
  onAttentionChange: Notify<[change: AttentionChange]>
}

export const queueMonitorHooks = {
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
  onAttentionChange: {
    kind: 'notify',
    args: ['change'],
    summary:
      'Something began to need attention, or no longer does; fires on the node that checks. Plugins report facts in `collectAttention`',
  },
} satisfies HookSpecs<QueueMonitorHooks>

declare module 'zin' {
  interface HookMap extends QueueMonitorHooks {}
}
