import type { Context } from 'koa'
import { clientNetwork } from '../egress/address.js'
import { requestContext } from './request-context.js'

export interface ClientLimitOptions {
  /** Maximum number of open connections of one client. */
  readonly perClient: number
  /** Maximum number of open connections of all clients together. */
  readonly total: number
  /** The error for a client that has `perClient` of them. */
  readonly perClientError: (most: number) => Error
  /** The error when there are `total` of them. */
  readonly totalError: (most: number) => Error
}

/**
 * Bounds what outlasts a request, such as event streams and sockets, per client and in total. A client is a user or, without one, an address
 * (the /64 of an IPv6 one).
 */
export class ClientLimit {
  readonly #options: ClientLimitOptions
  readonly #byClient = new Map<string, number>()
  #size = 0

  constructor(options: ClientLimitOptions) {
    this.#options = options
  }

  /** Counts a connection of the client of a request. Returns the function that ends it, which counts once. Throws the errors of the options. */
  admit(ctx: Context): () => void {
    const { perClient, perClientError, total, totalError } = this.#options
    const userId = requestContext()?.userId
    const client = userId === undefined ? `network ${clientNetwork(ctx.ip)}` : `user ${userId}`
    const open = this.#byClient.get(client) ?? 0
    if (open >= perClient) throw perClientError(perClient)
    if (this.#size >= total) throw totalError(total)
    this.#byClient.set(client, open + 1)
    this.#size++
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#size--
      const left = (this.#byClient.get(client) ?? 1) - 1
      if (left === 0) this.#byClient.delete(client)
      else this.#byClient.set(client, left)
    }
  }
}
