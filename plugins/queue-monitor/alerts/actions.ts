import { type Endpoint, idOf } from '../webhooks/endpoint.js'
import type { AlertRule } from './rules.js'

/** A threshold and the action for its alerts. */
export interface AlertAction {
  readonly threshold: number
  /** Of the failure rate: attempts that must have ended, so that it counts. Default 20. */
  readonly minAttempts?: number
  /** Of the failure rate: raises by a sequential test instead, see `falseAlarmMinutes`. */
  readonly confidence?: number
  readonly action?: 'webhook' | 'email' | 'slack'
  /** URL for the actions webhook and slack. */
  readonly webhook?: string
  /** Email addresses for the action email. */
  readonly recipients?: readonly string[]
}

/** Returns the endpoint for the action of a threshold; undefined without an action. Pure. */
export function endpointOfAction(rule: AlertRule, { action, recipients = [], webhook = '' }: AlertAction): Endpoint | undefined {
  if (action === undefined) return undefined
  return {
    id: idOf('alert', rule, action, webhook, recipients),
    channel: action,
    url: action === 'email' ? '' : webhook,
    recipients: action === 'email' ? recipients : [],
    events: ['queue.alert', 'queue.alert.cleared'],
    queues: '*',
    rule,
    description: `Action of the alert ${rule}`,
    source: 'alert',
    createdBy: null,
    owner: null,
  }
}

/** What happens when something begins to need attention, and when it no longer does. */
export type AttentionAction = Required<Pick<AlertAction, 'action'>> & Omit<AlertAction, 'threshold' | 'action'>

/** Returns the endpoint for what needs attention. Pure. */
export function endpointOfAttention({ action, recipients = [], webhook = '' }: AttentionAction): Endpoint {
  return {
    id: idOf('alert', 'attention', action, webhook, recipients),
    channel: action,
    url: action === 'email' ? '' : webhook,
    recipients: action === 'email' ? recipients : [],
    events: ['attention.raised', 'attention.cleared'],
    queues: '*',
    description: 'Action of the alert attention',
    source: 'alert',
    createdBy: null,
    owner: null,
  }
}

/** Returns what is missing for an action, or undefined if it is complete. Pure. */
export function actionFault({ action, recipients = [], webhook }: Omit<AlertAction, 'threshold'>, hasSmtp: boolean): string | undefined {
  if (action === 'webhook' || action === 'slack')
    return webhook === undefined ? `the action ${action} requires "webhook", a URL` : undefined
  if (action !== 'email') return undefined
  if (recipients.length === 0) return 'the action email requires "recipients"'
  return hasSmtp ? undefined : 'the action email requires the option monitor.smtp'
}
