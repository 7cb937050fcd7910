import { EventEmitter } from 'node:events'
import type { QueryResult } from './answer.js'
import type { Listener, PgliteSession, Release } from './session.js'

/** What the server says about a failed statement, on an error as node-postgres throws it. */
export class StatementError extends Error {
  override readonly name = 'StatementError'
  readonly code: string | undefined
  /** BullMQ's functions say here which refusal it is. */
  readonly detail: string | undefined

  constructor(facts: { readonly message?: string; readonly code?: string; readonly detail?: string }) {
    super(facts.message ?? 'the statement failed')
    this.code = facts.code
    this.detail = facts.detail
  }
}

/** Looks like a pool's client. Keeps what a connection has and one shared session cannot: its name and its channels. */
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

  /** Gives up the name, the channels, and a transaction that was left open. */
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
      const answer = await this.#session.run(text, values)
      open = answer.inTransaction
      if (answer.error) throw new StatementError(answer.error as ConstructorParameters<typeof StatementError>[0])
      return answer.result
    } finally {
      this.#transaction = open ? release : undefined
      if (!open) release()
    }
  }

  /** `pg_stat_activity` of a server with a connection for each client. */
  #connections(): QueryResult {
    const names = [...this.#session.listeners]
      .filter((one) => one instanceof PgliteClient)
      .map((one) => one.applicationName)
      .filter((name) => name !== '')
    return { rows: names.map((name) => ({ application_name: name })), rowCount: names.length, command: 'SELECT' }
  }
}
