import type { NewDecision } from 'zin/plugins/decisions'
import type { NodeDecision } from './local-worker-parts.js'

const rules: Readonly<Record<NodeDecision['verdict'], Pick<NewDecision, 'kind' | 'rule'>>> = {
  restarted: { kind: 'restart', rule: 'workers/watchdog' },
  recovered: { kind: 'restart', rule: 'workers/watchdog' },
  failed: { kind: 'start', rule: 'workers/start' },
  kept: { kind: 'rollout', rule: 'workers/rollout' },
}

const mostCharacters = 500

/** A decision of a node as the plugin `decisions` stores it; errors of processors can have many lines. */
export function recordOf({ worker, reason, verdict, inputs }: NodeDecision): NewDecision {
  const line = reason.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  const short = line.length > mostCharacters ? `${line.slice(0, mostCharacters - 1)}…` : line
  return { ...rules[verdict], subject: `worker:${worker}`, verdict, acted: true, reason: short, inputs }
}
