import type { Topology } from './topology.js'

/** Since when each region has had processes that can run workers, or none. ms by a monotonic clock. */
export type RegionStates = ReadonlyMap<string, { readonly up: boolean; readonly since: number }>

/** The states after a look at the processes; a region keeps its time as long as it stays up or down. */
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
  /** How long a region must have been without processes before its workers leave it, ms. */
  readonly leaveAfterMs: number
  /** How long a region must have had processes again before its workers return to it, ms. */
  readonly returnAfterMs: number
}

export interface Move {
  readonly to: string
  readonly rule: 'region-lost' | 'region-back'
}

/**
 * Where a worker should go from the region that it is placed in; undefined: it stays. It leaves a region that was lost for the first one
 * of its topology that is up, and returns to an earlier one when that has been up for long enough. With none up, it stays.
 */
export function moveOf(topology: Topology, current: string, states: RegionStates, at: number, times: FailoverTimes): Move | undefined {
  const order = [topology.primary, ...topology.secondaries]
  const isSince = (region: string, up: boolean, ms: number): boolean => {
    const state = states.get(region)
    return state !== undefined && state.up === up && at - state.since >= ms
  }
  const position = order.indexOf(current)
  // Placed in a region that is not of its topology.
  if (position < 0) return { to: order.find((region) => states.get(region)?.up) ?? topology.primary, rule: 'region-back' }
  const earlier = order.slice(0, position).find((region) => isSince(region, true, times.returnAfterMs))
  if (earlier !== undefined) return { to: earlier, rule: 'region-back' }
  if (!isSince(current, false, times.leaveAfterMs)) return undefined
  const to = order.find((region) => region !== current && states.get(region)?.up)
  return to === undefined ? undefined : { to, rule: 'region-lost' }
}
