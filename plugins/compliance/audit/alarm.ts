import type { MetricSample } from 'zin'
import type { Decisions } from 'zin/plugins/decisions'
import type { PublisherState } from './places/publisher.js'
import type { WriterState, WriterTotals } from './writer.js'

/** Records a decision when the log becomes unwritable, and when it is writable again. */
export function raiseAlarm(decisions: Decisions | undefined, node: string, { downSince, error = '', unkept, waiting }: WriterState): void {
  const raised = downSince !== undefined
  const since = raised ? new Date(downSince).toISOString() : ''
  decisions?.record({
    kind: 'alert',
    subject: `node:${node}`,
    verdict: raised ? 'raised' : 'cleared',
    acted: true,
    reason: (raised
      ? `The audit log has not been writable since ${since}: management actions are refused, and job outcomes are buffered (${error})`
      : `The audit log can be written again; ${waiting} entries are buffered, ${unkept} were lost`
    ).slice(0, 500),
    inputs: { waiting, unkept },
    rule: 'compliance/audit-unavailable',
    links: { audit: '/api/compliance/audit/status' },
  })
}

/** Records a decision when seals cannot be written to a place outside the tables, and when they can again. */
export function raisePlaceAlarm(decisions: Decisions | undefined, node: string, { error = '', failingSince, place }: PublisherState): void {
  const raised = failingSince !== undefined
  decisions?.record({
    kind: 'alert',
    subject: `node:${node}`,
    verdict: raised ? 'raised' : 'cleared',
    acted: true,
    reason: (raised
      ? `The seals of the audit log cannot be written to ${place}: no entry is lost, but cutting off the newest ones would go unnoticed (${error})`
      : `The seals of the audit log can be written to ${place} again`
    ).slice(0, 500),
    inputs: {},
    rule: 'compliance/audit-seals',
    links: { audit: '/api/compliance/audit/status' },
  })
}

export function placeMetrics(places: readonly PublisherState[]): readonly MetricSample[] {
  const failing = places.filter(({ failingSince }) => failingSince !== undefined).length
  return [
    {
      name: 'zin_audit_places_failing',
      help: 'Places outside the tables of the audit log, such as kv and the anchors, that its seals cannot be written to',
      type: 'gauge',
      value: failing,
    },
  ]
}

export function auditMetrics({ downSince, waiting }: WriterState, { refused, unkept, written }: WriterTotals): readonly MetricSample[] {
  return [
    { name: 'zin_audit_up', help: 'Whether the audit log can be written: 1 or 0', type: 'gauge', value: downSince === undefined ? 1 : 0 },
    { name: 'zin_audit_backlog', help: 'Audit log entries waiting to be written', type: 'gauge', value: waiting },
    { name: 'zin_audit_entries_total', help: 'Entries written to the audit log by this process', type: 'counter', value: written },
    {
      name: 'zin_audit_unkept_total',
      help: 'Job outcomes lost because the audit log could not be written; each gap is recorded as an entry',
      type: 'counter',
      value: unkept,
    },
    {
      name: 'zin_audit_refusals_total',
      help: 'Actions refused because the audit log could not be written',
      type: 'counter',
      value: refused,
    },
  ]
}
