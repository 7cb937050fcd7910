import { Component } from 'preact'
import { absolute } from '../absolute.js'
import { now } from '../data/clock.js'
import { count, duration, exact, relative } from '../format.js'

/** A time relative to now; the absolute time in the viewer's time zone on hover. */
export function Time({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="dim">–</span>
  return <RelativeTime ms={typeof at === 'number' ? at : Date.parse(at)} />
}

/** Re-rendered only when its text changes: a long list has many, and the clock ticks every second. */
class RelativeTime extends Component<{ readonly ms: number }> {
  #text = ''
  #stop: (() => void) | undefined

  override componentDidMount(): void {
    this.#stop = now.on(() => {
      if (relative(this.props.ms, now.value) !== this.#text) this.forceUpdate()
    })
  }

  override componentWillUnmount(): void {
    this.#stop?.()
  }

  override shouldComponentUpdate({ ms }: { readonly ms: number }): boolean {
    return ms !== this.props.ms || relative(ms, now.value) !== this.#text
  }

  override render() {
    const { ms } = this.props
    this.#text = relative(ms, now.value)
    return (
      <time dateTime={new Date(ms).toISOString()} title={absolute(ms)}>
        {this.#text}
      </time>
    )
  }
}

/** The absolute time with its time zone, followed by the relative time. */
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
