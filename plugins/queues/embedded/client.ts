import { EventEmitter } from 'node:events'
import type { QueryResult } from './response.js'
import type { Listener, PgliteSession, Release } from './session.js'

/** Implements a pool client on the shared session. Holds the state that would belong to a connection: its name and its channels. */
export class PgliteClient extends EventEmitter implements Listener {
  readonly channels = new Set<string>()
  readonly #session: PgliteSession
  #applicationName = ''
  /** Held from BEGIN to COMMIT or ROLLBACK. */
  #transaction: Release | undefined

  constructor(session: PgliteSession) {
    super()
    this.setMaxListeners(0)
    this.#session = session
    session.listeners.add(this)
  }

  get applicationName(): string {
    return this.#applicationName
  }

  notify(channel: string, payload: string): void {
    this.emit('notification', { channel, payload, processId: 0 })
  }

  async query(text: string, values: readonly unknown[] = []): Promise<QueryResult> {
    if (text.includes("set_config('application_name'")) {
      this.#applicationName = String(values[0] ?? '')
      return { rows: [{ set_config: this.#applicationName }], rowCount: 1, command: 'SELECT' }
    }
    if (text.includes('FROM pg_stat_activity')) return this.#connections()
    const channel = /^\s*(?:--[^\n]*\n\s*)*LISTEN\s+"?(\w+)"?/i.exec(text)?.[1]
    if (channel !== undefined) this.channels.add(channel)
    return this.#run(text, values)
  }

  /** Releases the name and the channels, and rolls back an open transaction. */
  release(): void {
    this.#session.listeners.delete(this)
    this.channels.clear()
    this.#applicationName = ''
    const held = this.#transaction
    this.#transaction = undefined
    if (held)
      void this.#session
        .run('ROLLBACK')
        .catch(() => undefined)
        .finally(held)
  }

  async #run(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const release = this.#transaction ?? (await this.#session.acquire())
    let open = false
    try {
      const response = await this.#session.run(text, values)
      open = response.inTransaction
      if (response.error) throw response.error
      return response.result
    } finally {
      this.#transaction = open ? release : undefined
      if (!open) release()
    }
  }

  /** Emulates the `pg_stat_activity` of a server with one connection per client. */
  #connections(): QueryResult {
    const names = [...this.#session.listeners]
      .filter((one) => one instanceof PgliteClient)
      .map((one) => one.applicationName)
      .filter((name) => name !== '')
    return { rows: names.map((name) => ({ application_name: name })), rowCount: names.length, command: 'SELECT' }
  }
}
