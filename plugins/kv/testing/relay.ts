import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A relay to a Redis, whose connections a test can cut. */
export interface Relay {
  readonly port: number
  listen(): Promise<void>
  cut(): Promise<void>
}

/** Replies that relays lose: the connection of the next command that contains `to` is cut when the server has replied. */
export interface LostReplies {
  to?: string | undefined
  count: number
}

export async function openRelay(
  upstream: { readonly host: string; readonly port: number },
  lost: LostReplies = { count: 0 },
): Promise<Relay> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const target = connect(upstream)
    let loses = false
    for (const [end, other] of [
      [client, target],
      [target, client],
    ] as const)
      sockets.add(end.on('error', () => undefined).on('close', () => other.destroy()))
    client.on('data', (chunk: Buffer) => {
      if (lost.to !== undefined && chunk.includes(lost.to)) {
        lost.to = undefined
        loses = true
      }
      target.write(chunk)
    })
    target.on('data', (chunk: Buffer) => {
      if (!loses) return void client.write(chunk)
      lost.count++
      client.destroy()
    })
  })
  const listen = async (port: number): Promise<number> => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)
  return {
    port,
    listen: async () => void (await listen(port)),
    async cut() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      await closed
    },
  }
}
