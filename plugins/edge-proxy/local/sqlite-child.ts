// The entry of the process that runs the statements of one file: they block it, and it can be ended at any time.
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
    const hasBlobs = results.some(({ rows }) => rows.some((row) => row.some((value) => value instanceof Uint8Array)))
    return hasBlobs ? { type: 'results', results } : { type: 'json-results', json: JSON.stringify(results) }
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

/** A statement would outlive an app that was killed, and take memory without end: a thread sees both when this one cannot. */
function watch(): void {
  const code = `
    setInterval(() => {
      if (process.ppid !== ${process.ppid} || process.memoryUsage.rss() > ${Number(maxMb)} * 1048576) process.kill(process.pid, 'SIGKILL')
    }, ${watchMs})`
  new Worker(code, { eval: true, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref()
}

// Signals of a terminal or service manager go to all processes; the app decides when statements end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit(0))
watch()
try {
  serve(openSqliteFile(path, maxResultBytes))
} catch (error) {
  send({ type: 'unusable', message: (error as Error).message }, () => process.exit(1))
}
