import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received request. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a body as JSON.parse gives it
  readonly body: any
}

/** A server that receives webhooks. Responds with 204 unless a handler is set for the path. */
export class Receiver {
  readonly requests: Received[] = []
  readonly #server: Server
  readonly #answers = new Map<string, (response: ServerResponse, nth: number) => void>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<Receiver> {
    const server = createServer()
    const receiver = new Receiver(server)
    server.on('request', async (request, response) => {
      let text = ''
      for await (const chunk of request) text += String(chunk)
      const path = request.url ?? ''
      receiver.requests.push({ path, headers: request.headers, text, body: JSON.parse(text) })
      const answer = receiver.#answers.get(path)
      if (answer === undefined) response.writeHead(204).end()
      else answer(response, receiver.at(path).length)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return receiver
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** Sets the handler of a path; `nth` is the number of the request, from 1. */
  answer(path: string, how: (response: ServerResponse, nth: number) => void): void {
    this.#answers.set(path, how)
  }

  /** Returns the requests to a path, in order. */
  at(path: string): readonly Received[] {
    return this.requests.filter((one) => one.path === path)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
