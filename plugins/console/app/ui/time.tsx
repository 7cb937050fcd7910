import { useNow } from '../data/clock.js'
import { absolute, count, duration, exact, relative } from '../format.js'

/** Relative to now; the absolute time in the viewer's zone on hover. */
export function Time({ at }: { readonly at: string | number | null | undefined }) {
  const now = useNow()
  if (at === null || at === undefined) return <span class="dim">–</span>
  const ms = typeof at === 'number' ? at : Date.parse(at)
  return (
    <time dateTime={new Date(ms).toISOString()} title={absolute(ms)}>
      {relative(ms, now)}
    </time>
  )
}

/** The absolute time, with its zone. */
export function FullTime({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="dim">–</span>
  const ms = typeof at === 'number' ? at : Date.parse(at)
  return (
    <span>
      <time class="mono" dateTime={new Date(ms).toISOString()}>
        {absolute(ms)}
      </time>{' '}
      <span class="dim">
        <Time at={ms} />
      </span>
    </span>
  )
}

export function Duration({ ms }: { readonly ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span class="dim">–</span>
  return <span title={`${exact(Math.round(ms))} ms`}>{duration(ms)}</span>
}

export function Count({ value }: { readonly value: number }) {
  return (
    <span class={value === 0 ? 'dim' : undefined} title={exact(value)}>
      {count(value)}
    </span>
  )
}
