import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

interface Upstream {
  readonly host: string
  readonly port: number
}

/** A relay to a server, on which a test can cause the faults of a network. */
export interface Relay {
  readonly port: number
  listen(): Promise<void>
  /** Ends all connections and accepts no more until `listen`. */
  cut(): Promise<void>
  /**
   * Drops what existing connections send, in both directions or in one, without ending them, like a firewall that has lost its
   * state. New connections work.
   */
  forget(what?: Lost): void
  /** Accepts new connections, but drops what they send until `hear`. */
  mute(): void
  hear(): void
  /** Connects new connections to another server. */
  redirect(upstream: Upstream): void
}

/** Replies that relays lose: the connection of the next command that contains `to` is cut when the server has replied. */
export interface LostReplies {
  to?: string | undefined
  count: number
}

type Lost = 'all' | 'requests' | 'replies'

interface Link {
  lost?: Lost
}

export async function openRelay(upstream: Upstream, lost: LostReplies = { count: 0 }): Promise<Relay> {
  const sockets = new Set<Socket>()
  const links = new Set<Link>()
  let to = upstream
  let muted = false
  const server = createServer((client) => {
    const target = connect(to)
    const link: Link = muted ? { lost: 'all' } : {}
    links.add(link)
    let loses = false
    for (const [end, other] of [
      [client, target],
      [target, client],
    ] as const)
      sockets.add(end.on('error', () => undefined).on('close', () => other.destroy()))
    client.on('close', () => links.delete(link))
    client.on('data', (chunk: Buffer) => {
      if (link.lost === 'all' || link.lost === 'requests') return
      if (lost.to !== undefined && chunk.includes(lost.to)) {
        lost.to = undefined
        loses = true
      }
      target.write(chunk)
    })
    target.on('data', (chunk: Buffer) => {
      if (link.lost === 'all' || link.lost === 'replies') return
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
    forget(what = 'all') {
      for (const link of links) link.lost = what
    },
    mute: () => {
      muted = true
    },
    hear: () => {
      muted = false
    },
    redirect: (other) => {
      to = other
    },
  }
}
