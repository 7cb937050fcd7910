import { countText } from 'zin'
import { percentOf } from './next-act.js'
import type { CanaryRecord, CanarySpec } from './record.js'

/** `1, 5 and 20 % of the jobs in 3 steps of 20 min`; steps of different lengths are named one by one. */
export function stepsText({ steps }: CanarySpec): string {
  const [first, ...others] = steps
  const lengths = new Set(steps.map(({ minDurationMs }) => minDurationMs))
  if (first === undefined || others.length === 0 || lengths.size > 1)
    return listOf(
      steps.map(({ minDurationMs, share }, i) => `${percentOf(share)} %${i === 0 ? ' of the jobs' : ''} for ${timeText(minDurationMs)}`),
    )
  const shares = listOf(steps.map(({ share }) => String(percentOf(share))))
  return `${shares} % of the jobs in ${steps.length} steps of ${timeText(first.minDurationMs)}`
}

/** The message of a replay. */
export function replayText(
  { canary, stable, worker }: Pick<CanaryRecord, 'canary' | 'stable' | 'worker'>,
  { left, pending, replayed }: { readonly replayed: number; readonly left: number; readonly pending: number },
): string {
  return [
    `${countText(replayed, 'job')} of worker "${worker}" run again on version ${stable}`,
    ...(left === 0 ? [] : [`${left} were no longer failed or no longer kept`]),
    ...(pending === 0 ? [] : [`up to ${countText(pending, 'job')} still run on version ${canary} and are replayed if they fail`]),
  ].join('; ')
}

function listOf(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

function timeText(ms: number): string {
  const [size, unit] = ms >= 3_600_000 ? ([3_600_000, 'h'] as const) : ms >= 60_000 ? ([60_000, 'min'] as const) : ([1_000, 's'] as const)
  return `${Number((ms / size).toPrecision(3))} ${unit}`
}
