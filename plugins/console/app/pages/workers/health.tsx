import { plural } from '../../format.js'
import { Badge } from '../../ui/badge.js'
import { Time } from '../../ui/time.js'
import type { HealthResponse } from './types.js'

/** Scores below these are a warning, or bad. */
const well = 80
const poor = 50

export function healthTone(score: number): 'neutral' | 'warn' | 'bad' {
  return score >= well ? 'neutral' : score >= poor ? 'warn' : 'bad'
}

/** The health score as a sum: 100 minus the deductions. */
export function HealthLedger({ health }: { readonly health: HealthResponse['health'] }) {
  const { checks, monitored, score, terms } = health
  const failing = checks.filter(({ healthy }) => !healthy)
  return (
    <>
      <ul class="ledger">
        <li>
          <span>Base score</span>
          <span class="ledger-number">100</span>
        </li>
        {terms.map(({ name, penalty, plugin, reason }) => (
          <li key={`${plugin ?? ''} ${name}`}>
            <span>
              {reason} <span class="dim mono">{plugin === undefined ? name : `${plugin}/${name}`}</span>
            </span>
            <span class="ledger-number">{penalty === 0 ? '0' : `−${penalty}`}</span>
          </li>
        ))}
        <li class="ledger-sum">
          <span>Health</span>
          <span class="ledger-number">{score}</span>
        </li>
      </ul>
      <p class="dim">
        {!monitored
          ? 'No health checks: monitoring is not started for this worker.'
          : checks.length === 0
            ? 'No health check has finished yet.'
            : failing.length === 0
              ? `Health checks pass on ${plural(checks.length, 'node')}.`
              : `Health checks fail on ${failing.length} of ${plural(checks.length, 'node')}.`}
      </p>
      {failing.map(({ at, error, node }) => (
        <p key={node}>
          <Badge tone="bad">{node}</Badge> {error ?? 'no error message'}{' '}
          <span class="dim">
            <Time at={at} />
          </span>
        </p>
      ))}
    </>
  )
}
