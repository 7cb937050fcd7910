import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A command that a client sent, as MONITOR prints it: quoted characters stay quoted. */
export interface MonitoredCommand {
  /** In lower case. */
  readonly name: string
  readonly args: readonly string[]
  /** Address of the client. */
  readonly client: string
}

/**
 * Returns the commands that clients send to a server while `work` runs, without those that scripts run. Uses a plain socket, because ioredis
 * fails if another client's command arrives together with the reply to MONITOR.
 */
export async function commandsDuring(url: string, work: () => Promise<unknown>): Promise<readonly MonitoredCommand[]> {
  const [monitor, marker] = await Promise.all([open(url), open(url)])
  const end = randomUUID()
  try {
    monitor.write('MONITOR\r\n')
    const lines = linesOf(monitor)
    await lines.next()
    await work()
    marker.write(`ECHO ${end}\r\n`)
    const seen: MonitoredCommand[] = []
    for await (const line of lines) {
      if (line.includes(end)) break
      const command = commandOf(line)
      if (command !== undefined) seen.push(command)
    }
    return seen
  } finally {
    monitor.destroy()
    marker.destroy()
  }
}

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

async function* linesOf(socket: Socket): AsyncGenerator<string, void> {
  let rest = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Parses a line such as `+1795457021.569383 [0 127.0.0.1:42920] "get" "key"`; undefined for a command of a script. */
function commandOf(line: string): MonitoredCommand | undefined {
  const [, client, text] = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/.exec(line) ?? []
  if (client === undefined || text === undefined) throw new Error(`not a MONITOR line: ${line}`)
  if (client === 'lua') return undefined
  const [name = '', ...args] = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word)
  return { name: name.toLowerCase(), args, client }
}
