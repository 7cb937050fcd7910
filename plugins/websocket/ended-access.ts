import { type Logger, messageOf, withDeadline } from 'zin'
import { type Cluster, defineMessage } from 'zin/plugins/cluster'
import type { SocketServer } from './server.js'

const accessEnded = defineMessage<{ readonly userId: string }>('websocket.access-ended')

/** How long whoever ends a session waits for the other processes to be told, in ms: they notice it with the next ping in any case. */
const tellMs = 1_000

export interface EndedAccessParts {
  readonly server: SocketServer
  readonly cluster: () => Cluster | undefined
  readonly log: Logger
}

/** Returns the listener of `onAccessEnded`: the connections of the user on every process are checked again. It never rejects. */
export function endedAccess({ server, cluster, log }: EndedAccessParts): (userId: string) => Promise<void> {
  /** Per user, whether it came again while the others are told: everything that revokes several tokens is one message, or two. */
  const telling = new Map<string, boolean>()
  const tell = async (userId: string): Promise<void> => {
    try {
      const sent = cluster()?.send(accessEnded, { userId })
      if (sent !== undefined) await withDeadline(sent, tellMs, `it took longer than ${tellMs} ms`)
    } catch (error) {
      log.debug({ why: messageOf(error) }, 'other processes could not be told to check access again; they do with the next ping')
    }
  }
  return async (userId) => {
    void server.recheck(userId)
    if (telling.has(userId)) {
      telling.set(userId, true)
      return
    }
    telling.set(userId, true)
    while (telling.get(userId)) {
      telling.set(userId, false)
      await tell(userId)
    }
    telling.delete(userId)
  }
}

/** Checks the connections again of users whom other processes name. Returns a function that stops it. */
export function receiveEndedAccess(server: SocketServer, cluster: Cluster): () => void {
  return cluster.on(accessEnded, ({ userId }, from) => {
    if (from !== cluster.node.id) void server.recheck(userId)
  })
}
