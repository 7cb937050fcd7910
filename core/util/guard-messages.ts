import type { ChildProcess } from 'node:child_process'

/** The part of Node's handle of a channel that is used here; it is not public. */
interface Channel {
  onread: ((...args: unknown[]) => void) | undefined
}

/**
 * Protects this process from the messages of a child process with an IPC channel. Code of the child can write anything to the channel: for
 * bytes that are no message, and for Node's own messages, which pass sockets on, Node would throw here where nothing can catch it. Call it
 * when the child is made. Its listeners must still check the form of each message.
 *
 * @param broken called with the error when the channel can no longer be read: end the child.
 *
 * @example
 * import { fork } from 'node:child_process'
 *
 * const child = fork('task.mjs')
 * guardMessages(child, () => child.kill('SIGKILL'))
 */
export function guardMessages(child: ChildProcess, broken: (error: unknown) => void): void {
  child.removeAllListeners('internalMessage')
  const handle = Object.getOwnPropertySymbols(child).find(({ description }) => description === 'kChannelHandle')
  const channel = handle && ((child as unknown as Record<symbol, unknown>)[handle] as Channel | null)
  const read = channel?.onread
  if (!channel || read === undefined) return
  channel.onread = function (this: unknown, ...args) {
    try {
      read.apply(this, args)
    } catch (error) {
      broken(error)
    }
  }
}
