import type { JobAttempt, JobDetails } from 'zin/plugins/queue-monitor'
import { useNow } from '../data/clock.js'
import { duration, plural } from '../format.js'

interface Part {
  readonly kind: 'wait' | 'delay' | 'run'
  readonly title: string
  readonly ms: number
  readonly failed: boolean
}

/** A bar of the times the job waited and ran, to scale. */
export function JobTimeline({ attempts, job }: { readonly job: JobDetails; readonly attempts: readonly JobAttempt[] }) {
  const now = useNow()
  const parts = attempts.length > 1 ? attemptParts(job, attempts, now) : partsOf(job, now)
  const total = parts.reduce((sum, { ms }) => sum + ms, 0)
  return (
    <div class="timeline">
      <div class="timeline-bar" role="img" aria-label={parts.map(({ ms, title }) => `${title} ${duration(ms)}`).join(', ')}>
        {parts.map((part) => (
          <span key={part.title} class={classOf(part)} style={{ flexGrow: total === 0 ? 1 : Math.max(0.004, part.ms / total) }} />
        ))}
      </div>
      <ol>
        {parts.map((part) => (
          <li key={part.title}>
            <span class={`swatch ${classOf(part)}`} aria-hidden="true" />
            {part.title} {duration(part.ms)}
          </li>
        ))}
      </ol>
    </div>
  )
}

const classOf = ({ failed, kind }: Part): string => `part-${kind}${failed ? ' failed' : ''}`

/** The attempts, with the gaps between them. */
function attemptParts(job: JobDetails, attempts: readonly JobAttempt[], now: number): readonly Part[] {
  const parts: Part[] = []
  let at = Date.parse(job.createdAt)
  const between = (until: number): void => {
    const kind = parts.length === 0 ? 'wait' : 'delay'
    const title = parts.length === 0 ? 'waited' : `pause ${Math.ceil(parts.length / 2)},`
    if (until > at) parts.push({ kind, title, ms: until - at, failed: false })
  }
  for (const [index, { endedAt, outcome, runMs }] of attempts.entries()) {
    const ended = Date.parse(endedAt)
    between(ended - runMs)
    parts.push({ kind: 'run', title: `attempt ${index + 1}, ${outcome},`, ms: runMs, failed: outcome !== 'completed' })
    at = ended
  }
  if (job.state === 'active' && job.startedAt !== null && Date.parse(job.startedAt) >= at) {
    between(Date.parse(job.startedAt))
    parts.push({ kind: 'run', title: 'running for', ms: Math.max(0, now - Date.parse(job.startedAt)), failed: false })
  } else if (job.readyAt !== null && Date.parse(job.readyAt) > at) between(Date.parse(job.readyAt))
  return parts
}

function partsOf(job: JobDetails, now: number): readonly Part[] {
  const added = Date.parse(job.createdAt)
  const started = job.startedAt === null ? undefined : Date.parse(job.startedAt)
  const ended = job.completedAt ?? job.failedAt
  const isFinal = ended !== null
  if (started === undefined || (!isFinal && job.state !== 'active')) {
    const ready = job.readyAt === null ? undefined : Date.parse(job.readyAt)
    const waited: Part = {
      kind: 'wait',
      title: started === undefined ? 'waiting for' : 'since it was added',
      ms: Math.max(0, now - added),
      failed: false,
    }
    return ready === undefined || ready <= now
      ? [waited]
      : [waited, { kind: 'delay', title: 'delayed for', ms: ready - now, failed: false }]
  }
  const before = job.attemptsStarted > 1 ? `waited, incl. ${plural(job.attemptsStarted - 1, 'earlier attempt')}` : 'waited'
  return [
    { kind: 'wait', title: before, ms: Math.max(0, started - added), failed: false },
    {
      kind: 'run',
      title: isFinal ? 'ran' : 'running for',
      ms: Math.max(0, (isFinal ? Date.parse(ended) : now) - started),
      failed: job.failedAt !== null,
    },
  ]
}
