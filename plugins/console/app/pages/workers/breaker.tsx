import type { BreakerStatus } from 'zin/plugins/breaker'
import { can } from '../../data/session.js'
import { duration, percent } from '../../format.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { ActionButton } from '../../ui/dialog.js'
import { Time } from '../../ui/time.js'
import { act } from './verbs.js'

const tones: Readonly<Record<BreakerStatus['state'], Tone>> = { closed: 'ok', open: 'bad', 'half-open': 'warn' }

export function Breaker({
  circuit,
  done,
  worker,
}: {
  readonly circuit: BreakerStatus
  readonly worker: string
  readonly done: () => void
}) {
  const { circuits, enabled, rules, state } = circuit
  if (!enabled) return <p class="dim">Off. To enable it, set features.circuitBreaker of the worker to true.</p>
  return (
    <div class="stacked">
      <p>
        <Badge tone={tones[state]}>{state}</Badge>{' '}
        {state === 'closed' && (
          <span class="dim">
            opens when {percent(rules.failureRatio)} of at least {rules.minimumJobs} jobs fail within {duration(rules.windowMs)}, or{' '}
            {rules.consecutiveFailures} in a row
          </span>
        )}
      </p>
      {circuits.map(({ jobName, openings, probes, reason, since, state: own, until }) => (
        <div key={jobName ?? ''}>
          <p>
            {jobName !== null && <b>{jobName}: </b>}
            {reason}
          </p>
          <p class="dim">
            {own === 'open' ? 'Open' : 'Half-open'} since <Time at={since} />
            {until === null ? `; ${probes.passed} of ${probes.needed} probes passed` : '; next probe '}
            {until !== null && (Date.parse(until) > Date.now() ? <Time at={until} /> : 'with the next job')}
            {openings > 1 && `; opened ${openings} times in a row`}
          </p>
        </div>
      ))}
      {state !== 'closed' && can('operate') && (
        <div>
          <ActionButton
            label="Close breaker"
            confirm={{
              title: `Close the breaker of ${worker}?`,
              text: 'Its jobs run again at once, without probes. It reopens if they still fail.',
            }}
            run={async () => {
              await act(worker, 'circuit/reset', undefined, {}).finally(done)
              return 'The breaker is closed'
            }}
          />
        </div>
      )}
    </div>
  )
}
