import type { CanaryView } from 'zin/plugins/canary'
import { absolute } from '../../absolute.js'
import { duration, exact, percent, plural } from '../../format.js'
import { path } from '../../router.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { Interval } from '../../ui/interval.js'
import { Link } from '../../ui/link.js'
import { Time } from '../../ui/time.js'
import { CanaryVerbs } from './canary-verbs.js'
import { isLive, metricNames, needsOf, pauseReasons, points, sentenceOf } from './canary-words.js'

const stateTones: Readonly<Record<CanaryView['state'], Tone>> = {
  PENDING: 'info',
  RUNNING: 'info',
  PAUSED: 'warn',
  PROMOTING: 'info',
  SUCCEEDED: 'ok',
  ROLLING_BACK: 'warn',
  ROLLED_BACK: 'bad',
  FAILED_TO_START: 'bad',
}

/** A canary with its steps, verdict and evidence. */
export function CanaryPanel({ canary, done, queue }: { readonly canary: CanaryView; readonly queue: string; readonly done: () => void }) {
  const { casualties, evidence, pausedFor, state, trafficPercentage, verdict } = canary
  return (
    <div class="canary">
      <div class="canary-head">
        <p>
          <Badge tone={stateTones[state]}>{state.toLowerCase().replaceAll('_', ' ')}</Badge> <b class="mono">{canary.canary.version}</b>{' '}
          against <span class="mono">{canary.stable.version}</span>
          {isLive(canary) && (
            <>
              , {trafficPercentage} % of the jobs <span class="dim">since</span> <Time at={canary.startedAt} />
            </>
          )}
          {canary.endedAt !== undefined && (
            <span class="dim" title={absolute(Date.parse(canary.endedAt))}>
              {' '}
              ended <Time at={canary.endedAt} />
            </span>
          )}
        </p>
        <CanaryVerbs canary={canary} done={done} />
      </div>
      {pausedFor !== undefined && <p class="canary-paused">{pauseReasons[pausedFor]}</p>}
      <Ladder canary={canary} />
      <p class="canary-reason">{evidence.reason}</p>
      {isLive(canary) && verdict === 'CONTINUE' && <p class="dim">{needsOf(canary)}</p>}
      <div class="metrics">
        {(['fail', 'slow', 'lost'] as const).map((metric) => (
          <Metric key={metric} metric={metric} of={evidence.metrics[metric]} decides={evidence.metric === metric} />
        ))}
      </div>
      <Errors of={canary.canary} queue={queue} />
      <Errors of={canary.stable} queue={queue} />
      {casualties.recorded > 0 && (
        <p class="dim">
          {plural(casualties.recorded, 'job')} failed permanently on {canary.canary.version}
          {casualties.replayed > 0 && `, of which ${exact(casualties.replayed)} ${casualties.replayed === 1 ? 'was' : 'were'} replayed`}.{' '}
          <Link to={path`/queues/${queue}?state=failed`}>Failed jobs</Link>
        </p>
      )}
      <History canary={canary} />
    </div>
  )
}

/** The steps of the rollout, with the current one highlighted. */
function Ladder({ canary }: { readonly canary: CanaryView }) {
  const { state, step, steps } = canary
  const over = state === 'SUCCEEDED'
  return (
    <ol class="ladder" aria-label="Steps">
      {steps.map(({ duration: length, gate, trafficPercentage }, index) => {
        const now = !over && isLive(canary) && index === step - 1
        const passed = over || index < step - 1
        return (
          <li
            key={trafficPercentage}
            class={now ? 'now' : passed ? 'passed' : undefined}
            aria-current={now ? 'step' : undefined}
            title={`${trafficPercentage} % for ${duration(length)}${gate === true ? ', then manual approval' : ''}`}
          >
            <span>{trafficPercentage} %</span>
            <small>{gate === true ? 'then approval' : duration(length)}</small>
          </li>
        )
      })}
    </ol>
  )
}

interface MetricProps {
  readonly metric: keyof CanaryView['evidence']['metrics']
  readonly of: CanaryView['evidence']['metrics']['fail']
  readonly decides: boolean
}

function Metric({ decides, metric, of: report }: MetricProps) {
  const { canary, difference, halfWidth, stable, tolerance, verdict } = report
  const tone = verdict === 'FAIL' ? 'bad' : verdict === 'PASS' ? 'ok' : 'neutral'
  const words = sentenceOf(metric, report)
  return (
    <section class={decides ? 'metric decides' : 'metric'} aria-label={metricNames[metric]}>
      <h3>
        {metricNames[metric]}{' '}
        <Badge tone={tone}>{verdict === 'FAIL' ? 'worse' : verdict === 'PASS' ? 'not worse' : 'no verdict yet'}</Badge>
      </h3>
      {difference === null || halfWidth === null ? (
        <p class="metric-none">No interval yet: too few jobs on both versions.</p>
      ) : (
        <Interval label={words} difference={difference} halfWidth={halfWidth} limit={tolerance} tone={tone} format={points} />
      )}
      <p>{words}</p>
      <p class="dim">
        canary {percent(canary.rate)} of {exact(canary.jobs)}, stable {percent(stable.rate)} of {exact(stable.jobs)}
      </p>
    </section>
  )
}

/** The most frequent errors of a version, each with a job that failed with it. */
function Errors({ of: { errors, version }, queue }: { readonly of: CanaryView['canary']; readonly queue: string }) {
  if (errors.length === 0) return null
  return (
    <section aria-label={`Errors of ${version}`}>
      <h3>Errors of {version}, retries included</h3>
      <ul class="acts">
        {errors.map(({ class: name, count, example, message }) => (
          <li key={`${name} ${message}`} class="act brief">
            <p class="act-reason">
              {name}: {message}
            </p>
            <p class="act-facts dim">
              <span>{plural(count, 'time')}</span>
              <Link to={path`/queues/${queue}/jobs/${example}`}>job {example}</Link>
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}

function History({ canary: { history } }: { readonly canary: CanaryView }) {
  return (
    <details class="evidence">
      <summary>History</summary>
      <ol class="acts">
        {history.toReversed().map(({ actor, at, from, reason, to }) => (
          <li key={`${at} ${to} ${reason}`} class="act brief">
            <p class="act-reason">{reason}</p>
            <p class="act-facts dim">
              <Time at={at} />
              <span>{from === null ? to : from === to ? `${to}, next step` : `${from} to ${to}`}</span>
              <span>
                {actor.kind} {actor.id}
              </span>
            </p>
          </li>
        ))}
      </ol>
    </details>
  )
}
