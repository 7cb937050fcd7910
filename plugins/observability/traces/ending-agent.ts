import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'

/** HTTP agent of the exporters, which would otherwise retry for seconds while the app stops. */
export interface EndingAgent {
  readonly agent: HttpAgent | HttpsAgent
  /** Makes errors final: nothing is retried from now on. */
  end(): void
  /** Aborts requests in flight. */
  cut(): void
}

export function endingAgent(endpoint: string): EndingAgent {
  const agent = endpoint.startsWith('https:') ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
  const sockets = new Set<Socket>()
  let ending = false
  const connecting = agent as unknown as { createConnection(...given: unknown[]): Socket }
  const create = connecting.createConnection.bind(agent)
  connecting.createConnection = (...given) => {
    const socket = create(...given)
    sockets.add(socket)
    socket.prependListener('error', (error: NodeJS.ErrnoException) => {
      // The exporter decides by the error code whether to retry.
      if (ending) delete error.code
    })
    socket.once('close', () => sockets.delete(socket))
    return socket
  }
  return {
    agent,
    end: () => {
      ending = true
    },
    cut: () => {
      for (const socket of sockets) socket.destroy(new Error('the app has stopped'))
      agent.destroy()
    },
  }
}
