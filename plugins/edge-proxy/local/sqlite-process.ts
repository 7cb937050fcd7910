import { type ChildProcess, fork } from 'node:child_process'
import { childEntry } from './child-entry.js'
import type { FromSqlite, SqliteRequest, ToSqlite } from './sqlite-protocol.js'

/** Limits for heap and total memory of the process, in MiB; it is killed above. */
const heapMb = 256
const memoryMb = 512

/** Time limit for opening the file, which may be locked, in ms. */
const openMs = 15_000

/** Time limit for closing the file, in ms; after that the process is killed. */
const closeMs = 2_000

type Response = Exclude<FromSqlite, { readonly type: 'ready' | 'unusable' }>

/** A child process that has a file open. */
export interface SqliteProcess {
  /** Resolves when the file is open. Rejects with the error of SQLite, or with how the process ended. */
  readonly ready: Promise<void>
  /** How it ended. */
  readonly ended: Promise<string>
  /** Runs one request at a time. Rejects only with how the process ended. */
  run(request: SqliteRequest): Promise<Response>
  /** Kills it at once; SQLite discards uncommitted changes when the file is opened again. */
  kill(): void
  /** Closes the file. No request may be running. */
  close(): Promise<void>
}

/** Opens a file in a child process, which exits when this process does. */
export function startSqliteProcess(path: string): SqliteProcess {
  const { execArgv, file } = childEntry()
  const child = fork(file, [path, String(memoryMb)], {
    // Do not inherit the app's execArgv: its debugging port is in use.
    execArgv: [`--max-old-space-size=${heapMb}`, ...execArgv],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const kill = (): void => void child.kill('SIGKILL')
  let running: { readonly resolve: (response: Response) => void; readonly reject: (error: Error) => void } | undefined
  let end: Error | undefined
  const lost = (how: string): Error => new Error(`the process of ${path} ${how}`)
  const ended = endOf(child)
  void ended.then((how) => {
    end = lost(how)
    running?.reject(end)
  })
  const ready = new Promise<void>((resolve, reject) => {
    const late = setTimeout(kill, openMs)
    child.once('message', () => clearTimeout(late))
    child.on('message', (message: FromSqlite) => {
      if (message.type === 'ready') resolve()
      else if (message.type === 'unusable') reject(new Error(`${path}: ${message.message}`))
      else running?.resolve(message)
    })
    void ended.then((how) => {
      clearTimeout(late)
      reject(lost(how))
    })
  })
  ready.catch(() => undefined)
  return {
    ready,
    ended,
    run: (request) =>
      new Promise((resolve, reject) => {
        running = { resolve, reject }
        if (end === undefined) post(child, { type: 'run', request })
        else reject(end)
      }),
    kill,
    async close() {
      post(child, { type: 'close' })
      const late = setTimeout(kill, closeMs)
      await ended
      clearTimeout(late)
    },
  }
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(signal === null ? `exited with code ${code}` : `was ended by ${signal}`))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`)
    })
  })
}

function post(child: ChildProcess, message: ToSqlite): void {
  // A child that has exited is reported by its `exit` event.
  if (child.connected) child.send(message, () => undefined)
}
