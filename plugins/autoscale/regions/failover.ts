import type { Topology } from './topology.js'

/** Whether each region has processes that can run workers, and since when (monotonic ms). */
export type RegionStates = ReadonlyMap<string, { readonly up: boolean; readonly since: number }>

/** Returns the updated states; a region keeps its time as long as it stays up or down. */
export function nextRegionStates(before: RegionStates, known: Iterable<string>, up: ReadonlySet<string>, at: number): RegionStates {
  return new Map(
    [...new Set(known)].map((region) => {
      const state = before.get(region)
      const isUp = up.has(region)
      return [region, state?.up === isUp ? state : { up: isUp, since: at }]
    }),
  )
}

export interface FailoverTimes {
  /** How long a region must have been without processes before its workers leave it, in ms. */
  readonly leaveAfterMs: number
  /** How long a region must have had processes again before its workers return to it, in ms. */
  readonly returnAfterMs: number
}

export interface Move {
  readonly to: string
  readonly rule: 'region-lost' | 'region-back'
}

/**
 * Returns the region that a worker should move to, or undefined if it stays. A worker leaves a lost region for the first region of its
 * topology that is up, and returns to an earlier one once that has been up for long enough. If no region is up, it stays.
 */
export function moveOf(topology: Topology, current: string, states: RegionStates, at: number, times: FailoverTimes): Move | undefined {
  const order = [topology.primary, ...topology.secondaries]
  const isSince = (region: string, up: boolean, ms: number): boolean => {
    const state = states.get(region)
    return state !== undefined && state.up === up && at - state.since >= ms
  }
  const position = order.indexOf(current)
  // The current region is not part of the topology.
  if (position < 0) return { to: order.find((region) => states.get(region)?.up) ?? topology.primary, rule: 'region-back' }
  const earlier = order.slice(0, position).find((region) => isSince(region, true, times.returnAfterMs))
  if (earlier !== undefined) return { to: earlier, rule: 'region-back' }
  if (!isSince(current, false, times.leaveAfterMs)) return undefined
  const to = order.find((region) => region !== current && states.get(region)?.up)
  return to === undefined ? undefined : { to, rule: 'region-lost' }
}
