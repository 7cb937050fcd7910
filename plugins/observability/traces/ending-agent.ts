import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'

/** Connections of the exporters, which would try again for seconds while the app stops. */
export interface EndingAgent {
  readonly agent: HttpAgent | HttpsAgent
  /** From now on an error is final: nothing is tried again. */
  end(): void
  /** Cuts what is still being sent. */
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
      // The exporter tries again by the code.
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
