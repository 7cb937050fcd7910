import { jsonText } from 'zin'
import { type Cluster, defineMessage } from 'zin/plugins/cluster'
import type { Sockets } from './contract.js'
import { websocketErrors } from './errors.js'
import type { SocketServer } from './server.js'
import { checkTopic } from './topics.js'

/** A published message, as JSON. */
interface Published {
  readonly topic: string
  readonly text: string
}

const published = defineMessage<Published>('websocket.published')

/** Largest message that is passed on to other processes, in bytes. */
const maxPublishedBytes = 262_144

/** The service: sends to the members of a topic, on every process. */
export function createSockets(server: SocketServer, cluster: () => Cluster | undefined, strict: boolean): Sockets {
  return {
    get size() {
      return server.size
    },
    async publish(topic, message) {
      checkTopic(topic)
      const text = jsonText(message ?? null, strict)
      const bytes = Buffer.byteLength(text)
      const others = cluster()
      if (others !== undefined && bytes > maxPublishedBytes) throw websocketErrors.SOCKET_PUBLISH_TOO_LARGE(topic, bytes, maxPublishedBytes)
      server.topics.publish(topic, text)
      await others?.send(published, { topic, text })
    },
  }
}

/** Passes what other processes publish to the connections of this one. Returns a function that stops it. */
export function receivePublished(server: SocketServer, cluster: Cluster): () => void {
  return cluster.on(published, ({ topic, text }, from) => {
    // Those of this process have it already.
    if (from !== cluster.node.id) server.topics.publish(topic, text)
  })
}
