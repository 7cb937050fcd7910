import { once } from 'node:events'
import { WebSocket } from 'ws'

/** A connected client that keeps what it receives. */
export interface Client {
  readonly ws: WebSocket
  readonly received: readonly unknown[]
  /** The next message that was not taken yet. */
  next(): Promise<unknown>
  send(message: unknown): void
  /** Code and reason with which the connection ends. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>
}

export interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: readonly string[]
  readonly perMessageDeflate?: boolean
  readonly autoPong?: boolean
}

/** Connects with the package ws. Rejects with {@link Refusal} if the app refuses. */
export async function connect(
  url: string,
  { headers = {}, protocols = [], perMessageDeflate = false, autoPong = true }: ConnectOptions = {},
): Promise<Client> {
  const ws = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], { headers, perMessageDeflate, autoPong } as object)
  const received: unknown[] = []
  const waiting: ((message: unknown) => void)[] = []
  let taken = 0
  const ended = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  ws.on('message', (data) => {
    const message = JSON.parse(String(data))
    received.push(message)
    const wake = waiting.shift()
    if (wake) {
      taken++
      wake(message)
    }
  })
  const refused = new Promise<never>((_resolve, reject) => {
    ws.on('unexpected-response', (_req, res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        reject(new Refusal(res.statusCode ?? 0, text === '' ? undefined : JSON.parse(text), res.headers))
      })
    })
    ws.on('error', reject)
  })
  refused.catch(() => undefined)
  await Promise.race([once(ws, 'open'), refused])
  return {
    ws,
    received,
    ended,
    send: (message) => ws.send(JSON.stringify(message)),
    next: () => {
      if (taken < received.length) return Promise.resolve(received[taken++])
      return Promise.race([
        new Promise((resolve) => void waiting.push(resolve)),
        ended.then(({ code, reason }) => Promise.reject(new Error(`the connection ended with ${code} ${reason}`))),
      ])
    },
  }
}

/** The response of an app that refuses a connection. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
    readonly body: any,
    readonly headers: Readonly<Record<string, string | string[] | undefined>>,
  ) {
    super(`refused with ${status} ${JSON.stringify(body)}`)
  }
}

/** The refusal of a connection that must not be accepted. */
export async function refusal(connecting: Promise<Client>): Promise<Refusal> {
  try {
    const { ws } = await connecting
    ws.terminate()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('the connection was accepted')
}
