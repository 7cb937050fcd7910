// Entry of the child process that runs the statements of one file. They block it, and it can be killed at any time.
import { Worker } from 'node:worker_threads'
import { openSqliteFile, type SqliteFile, TooLargeError } from './sqlite-file.js'
import { type FromSqlite, maxResultBytes, type SqliteRequest, type ToSqlite } from './sqlite-protocol.js'

const watchMs = 250

const [, , path = '', maxMb = ''] = process.argv

function send(message: FromSqlite, sent?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, sent)
}

function responseTo(file: SqliteFile, request: SqliteRequest): FromSqlite {
  try {
    const results = file.run(request)
    const isJson = (value: unknown): boolean => !(value instanceof Uint8Array) && typeof value !== 'bigint'
    return results.some(({ rows }) => rows.some((row) => !row.every(isJson)))
      ? { type: 'results', results }
      : { type: 'json-results', json: JSON.stringify(results) }
  } catch (error) {
    if (error instanceof TooLargeError) return { type: 'too-large' }
    return { type: 'failed', message: (error as Error).message }
  }
}

function serve(file: SqliteFile): void {
  process.on('message', (message: ToSqlite) => {
    if (message.type === 'run') return send(responseTo(file, message.request))
    file.close()
    process.exit(0)
  })
  send({ type: 'ready' })
}

/** Kills this process if the app is gone or memory exceeds the limit; runs in a thread, because a statement blocks this one. */
function watch(): void {
  const code = `
    setInterval(() => {
      if (process.ppid !== ${process.ppid} || process.memoryUsage.rss() > ${Number(maxMb)} * 1048576) process.kill(process.pid, 'SIGKILL')
    }, ${watchMs})`
  new Worker(code, { eval: true, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref()
}

// A terminal or service manager sends signals to all processes, but the app decides when statements end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit(0))
watch()
try {
  serve(openSqliteFile(path, maxResultBytes))
} catch (error) {
  send({ type: 'unusable', message: (error as Error).message }, () => process.exit(1))
}
