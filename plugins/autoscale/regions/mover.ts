import { type Clock, type Logger, messageOf } from 'zin'
import type { Decisions } from 'zin/plugins/decisions'
import type { NodeView, Workers, WorkerView } from 'zin/plugins/workers'
import { autoScaling, datacenter } from '../feature.js'
import type { FailoverEvent } from '../hooks.js'
import { type FailoverTimes, type Move, moveOf, nextRegionStates, type RegionStates } from './failover.js'
import type { Topology } from './topology.js'

export interface MoverParts {
  readonly workers: Workers
  readonly decisions: Decisions
  readonly clock: Clock
  readonly log: Logger
  readonly times: FailoverTimes
  /** Topology of workers without their own. */
  readonly topology: Topology | undefined
  readonly dryRun: boolean
  readonly onFailover: (event: FailoverEvent) => void
}

interface Placed {
  readonly view: WorkerView
  readonly topology: Topology
}

/** Moves workers with the feature `datacenter` out of lost regions, and back. Runs on the leader only. */
export class Mover {
  readonly #parts: MoverParts
  #states: RegionStates = new Map()
  #placed: readonly Placed[] = []
  /** Worker → the region to which a dry run would have moved it. */
  readonly #recorded = new Map<string, string>()

  constructor(parts: MoverParts) {
    this.#parts = parts
  }

  get isNeeded(): boolean {
    return this.#placed.length > 0
  }

  reset(): void {
    this.#states = new Map()
    this.#placed = []
    this.#recorded.clear()
  }

  /** Sets the workers as last read. */
  know(all: readonly WorkerView[]): void {
    this.#placed = all.flatMap((view) => {
      const topology = datacenter.isOn(view) ? this.#topologyOf(view) : undefined
      return topology === undefined ? [] : [{ view, topology }]
    })
  }

  /** Updates the region states from the nodes, and moves workers whose region was lost or is back. */
  async run(nodes: readonly NodeView[]): Promise<void> {
    const { clock, log } = this.#parts
    const at = clock.monotonic()
    const up = new Set(nodes.flatMap((node) => (node.alive && node.consumes && !node.draining ? [node.region] : [])))
    const known = this.#placed.flatMap(({ topology }) => [topology.primary, ...topology.secondaries])
    this.#states = nextRegionStates(this.#states, known, up, at)
    this.#placed = await Promise.all(
      this.#placed.map(async (placed) => {
        const { name, placement } = placed.view
        const move = moveOf(placed.topology, placement.regions?.[0] ?? '', this.#states, at, this.#parts.times)
        if (move === undefined) this.#recorded.delete(name)
        if (move === undefined || this.#recorded.get(name) === move.to) return placed
        try {
          return await this.#move(placed, move)
        } catch (error) {
          log.warn(
            { err: error, worker: name },
            `worker "${name}" could not be moved to region "${move.to}"; retrying: ${messageOf(error)}`,
          )
          return placed
        }
      }),
    )
  }

  #topologyOf(view: WorkerView): Topology | undefined {
    try {
      return autoScaling.of(view)?.regions ?? this.#parts.topology
    } catch (error) {
      this.#parts.log.warn({ err: error, worker: view.name }, messageOf(error))
      return undefined
    }
  }

  async #move(placed: Placed, { rule, to }: Move): Promise<Placed> {
    const { decisions, dryRun, onFailover, workers } = this.#parts
    const { view } = placed
    const from = view.placement.regions ?? []
    const placement = { ...view.placement, regions: [to] }
    if (!dryRun) await workers.update(view.name, { placement }, { waitMs: 0 })
    const reason = reasonOf(rule, from, to)
    const { id: decisionId } = decisions.record({
      kind: 'failover',
      subject: `worker:${view.name}`,
      verdict: rule === 'region-lost' ? 'moved' : 'returned',
      acted: !dryRun,
      reason,
      inputs: { from: [...from], to, primary: placed.topology.primary, secondaries: [...placed.topology.secondaries] },
      rule: `autoscale/${rule}`,
      links: { worker: `/api/workers/${view.name}` },
    })
    this.#recorded.delete(view.name)
    if (dryRun) {
      this.#recorded.set(view.name, to)
      return placed
    }
    onFailover({ worker: view.name, from, to, reason, decisionId })
    return { ...placed, view: { ...view, placement } }
  }
}

function reasonOf(rule: Move['rule'], from: readonly string[], to: string): string {
  if (from.length === 0)
    return `Placed in region "${to}", the first available one of its topology, because the worker was not placed in a region`
  return rule === 'region-lost'
    ? `Moved to region "${to}" because "${from[0]}" has no process left that runs workers`
    : `Moved back from region "${from[0]}" to "${to}", which has processes again and comes earlier in the topology`
}
