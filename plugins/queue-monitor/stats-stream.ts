import type { Context } from 'koa'
import { type EventStream, EventStreams, messageOf, ZinError } from 'zin'
import type { Scope } from './access/scope.js'
import type { QueueMonitor } from './contract.js'

/** Streams statistics to clients. All clients of a process share one read of the snapshot. */
export class StatsStreams {
  readonly #streams = new EventStreams()
  readonly #clients = new Map<EventStream, Scope>()
  readonly #monitor: Pick<QueueMonitor, 'stats'>

  constructor(monitor: Pick<QueueMonitor, 'stats'>) {
    this.#monitor = monitor
  }

  open(ctx: Context, scope: Scope): void {
    const stream: EventStream = this.#streams.open(ctx, () => this.#clients.delete(stream))
    this.#clients.set(stream, scope)
    void this.#send(stream, scope)
  }

  /** Sends the statistics to all clients. */
  async push(): Promise<void> {
    await Promise.all([...this.#clients].map(([stream, scope]) => this.#send(stream, scope)))
  }

  closeAll(): void {
    this.#streams.closeAll()
  }

  async #send(stream: EventStream, scope: Scope): Promise<void> {
    try {
      stream.send({ event: 'stats', data: await this.#monitor.stats(scope) })
    } catch (error) {
      const known = error instanceof ZinError
      stream.send({ event: 'unavailable', data: { code: known ? error.code : 'INTERNAL_ERROR', message: known ? messageOf(error) : '' } })
    }
  }
}
