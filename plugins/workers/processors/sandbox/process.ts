import { fork } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { FromChild } from './protocol.js'
import type { Vehicle, VehicleOptions } from './vehicle.js'

export function startProcess({ entry, env, memoryMb }: VehicleOptions): Vehicle {
  const child = fork(entry.file, [], {
    env: { ...env },
    // Not those of the app: its debugging port is taken.
    execArgv: [`--max-old-space-size=${memoryMb}`, ...(entry.tsx === undefined ? [] : ['--import', entry.tsx.loader])],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let cause = ''
  child.on('message', (message: unknown) => {
    const { type, error } = (message ?? {}) as Partial<Extract<FromChild, { type: 'fatal' }>>
    if (type === 'fatal') cause = error?.message ?? ''
  })
  const ended = new Promise<string>((resolve) => {
    const end = (how: string): void => resolve(cause === '' ? how : `${how} (${cause})`)
    child.on('exit', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`))
    child.on('error', (error) => {
      cause = error.message
      if (child.pid === undefined) end('it did not start')
    })
  })
  return {
    kind: 'process',
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    ended,
    post: (message) => void (child.connected && child.send(message)),
    onMessage: (listener) => void child.on('message', listener),
    kill: () => void child.kill('SIGKILL'),
  }
}
