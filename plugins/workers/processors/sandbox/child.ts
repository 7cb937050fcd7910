// The entry of the threads and processes that run processors: keep its imports light.
import { AsyncLocalStorage } from 'node:async_hooks'
import { pathToFileURL } from 'node:url'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { exportedFunction, missingExport } from '../exported.js'
import { JobCalls } from './job-calls.js'
import { heldNow, leftovers, Unrefd } from './leftovers.js'
import { type Envelope, type FromChild, jobMethods, type ToChild, watchFd } from './protocol.js'
import { fromWire, toWire } from './wire-error.js'

type Load = Extract<ToChild, { type: 'load' }>
type Run = Extract<ToChild, { type: 'run' }>

/** Maximum length of a result as JSON, in characters. */
const maxResult = 16 * 1024 * 1024

const watchMs = 250

const port = parentPort
const send = (message: FromChild, sent?: () => void): void => {
  const envelope: Envelope = { zinProcessor: message }
  if (port !== null) port.postMessage(envelope)
  else process.send?.(envelope, undefined, undefined, sent)
}

let processor: ((...args: never) => unknown) | undefined
/** The run that code belongs to. */
const runs = new AsyncLocalStorage<number>()
const unrefd = new Unrefd(() => runs.getStore() !== undefined)
unrefd.follow()
let current: { readonly run: number; readonly abort: AbortController; readonly calls: JobCalls } | undefined

function receive(message: ToChild): void {
  switch (message.type) {
    case 'load':
      void load(message)
      break
    case 'run':
      void run(message)
      break
    case 'abort':
      if (current?.run === message.run) {
        current.abort.abort(typeof message.reason === 'string' ? message.reason : fromWire(message.reason))
      }
      break
    case 'reply':
      if (current?.run === message.run) current.calls.reply(message)
      break
  }
}

async function load({ file, exports, tsx }: Load): Promise<void> {
  try {
    if (tsx !== undefined) {
      // Both are needed: Node treats a `.ts` file outside of a module package as CommonJS.
      for (const api of await Promise.all([import(tsx.esm), import(tsx.cjs)])) api.register()
    } else process.setSourceMapsEnabled(true)
    processor = exportedFunction((await import(pathToFileURL(file).href)) as Record<string, unknown>, exports)
    if (processor === undefined) send({ type: 'unloadable', why: missingExport(exports), missing: true })
    else send({ type: 'ready' })
  } catch (error) {
    send({ type: 'unloadable', why: toWire(error).message, missing: false })
  }
}

async function run({ run, job, token }: Run): Promise<void> {
  const abort = new AbortController()
  const calls = new JobCalls((call) => send({ ...call, run }))
  current = { run, abort, calls }
  const before = heldNow(port, unrefd)
  try {
    const work = (): unknown => (processor as (...args: unknown[]) => unknown)(jobOf(job, calls), token, abort.signal)
    const result = await runs.run(run, async () => await work())
    // Calls that the processor did not await are stored before the job counts as done.
    await calls.settled()
    send({ type: 'done', run, json: jsonOf(result) })
  } catch (error) {
    send({ type: 'failed', run, error: toWire(error) })
  } finally {
    current = undefined
  }
  send({ type: 'rest', run, left: await leftovers(before, port, unrefd) })
}

function jobOf(fields: Run['job'], calls: JobCalls): Record<string, unknown> {
  const job: Record<string, unknown> = { ...fields }
  for (const method of jobMethods) {
    job[method] = (...args: readonly unknown[]) => {
      if (method === 'updateProgress') job.progress = args[0]
      if (method === 'updateData') job.data = args[0]
      return calls.call(method, args)
    }
  }
  return job
}

function jsonOf(result: unknown): string | undefined {
  let json: string | undefined
  try {
    json = JSON.stringify(result)
  } catch (error) {
    throw invalidResult(`is not JSON: ${toWire(error).message}`)
  }
  if ((json?.length ?? 0) <= maxResult) return json
  throw invalidResult(`has more than ${maxResult} characters as JSON`)
}

/** The work is done, so the job must not be retried; the name of the error prevents that in BullMQ. */
function invalidResult(what: string): Error {
  return Object.assign(new Error(`the result of the job ${what}`), { name: 'UnrecoverableError', code: 'PROCESSOR_RESULT_INVALID' })
}

/** Says whose code fails or ends the thread or process. Node keeps the context of a run in both handlers. */
function followEnd(): void {
  let told = false
  const tell = (error: unknown, sent?: () => void): void => {
    if (told) return
    told = true
    send({ type: 'fatal', error: toWire(error), run: runs.getStore() }, sent)
  }
  process.on('uncaughtException', (error) => {
    tell(error, () => process.exit(1))
    if (port !== null) process.exit(1)
  })
  process.on('exit', () => tell('its code called process.exit'))
}

function becomeProcess(): void {
  process.on('message', receive)
  // A terminal or service manager signals all processes; the app decides when running jobs end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.on('disconnect', () => process.exit(0))
  followEnd()
  // A blocked processor would outlive an app that was killed, and buffers do not count towards the heap limit: a thread detects both even
  // while the event loop is blocked.
  const watch = `
    const { writeSync } = require('node:fs')
    const end = () => process.kill(process.pid, 'SIGKILL')
    setInterval(() => {
      const mb = Math.round(process.memoryUsage.rss() / 1048576)
      if (process.ppid !== ${process.ppid}) end()
      if (mb > ${Number(process.argv[2])}) {
        try { writeSync(${watchFd}, mb + '\\n') } finally { end() }
      }
    }, ${watchMs})`
  new Worker(watch, { eval: true, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref()
}

if (port !== null) {
  port.on('message', receive)
  followEnd()
} else if (isMainThread && process.send !== undefined) becomeProcess()
