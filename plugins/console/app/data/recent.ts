import { useRef } from 'preact/hooks'

const mostSamples = 60

/** Collects the latest samples of each value while the page is open, oldest first: one per `at`. */
export function useRecent(at: number | undefined, values: Readonly<Record<string, number>>): Readonly<Record<string, readonly number[]>> {
  const held = useRef<{ at: number | undefined; samples: Record<string, number[]> }>({ at: undefined, samples: {} })
  if (at !== undefined && at !== held.current.at) {
    held.current.at = at
    const before = held.current.samples
    held.current.samples = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, [...(before[name] ?? []), value].slice(-mostSamples)]),
    )
  }
  return held.current.samples
}
