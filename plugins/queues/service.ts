import { randomUUID } from 'node:crypto'
import type { FlowProducer, Job, Queue, QueueEvents, Worker } from 'bullmq'
import { type Clock, type DataStore, type Logger, withDeadline } from 'zin'
import { createAdding } from './adding.js'
import { askOf, repeatable } from './ask.js'
import type { QueueBackend } from './backend.js'
import { loadBullmq } from './bullmq.js'
import { type Canceller, cancelJob, cancelReason, type QueueJob } from './cancel.js'
import type { Queues } from './contract.js'
import { copying } from './copying.js'
import { createCounting } from './counting.js'
import { createDeletion } from './deletion/service.js'
import { queueErrors } from './errors.js'
import { beforeAll, readEvents } from './event-stream.js'
import { type FailedChild, forgetChildError } from './flows/child-errors.js'
import type { ChangedJob } from './flows/contract.js'
import { createFlows } from './flows/service.js'
import type { PurgedJob } from './hooks.js'
import { isJobId } from './job-id.js'
import { LateSchedules } from './late-schedules.js'
import { createJobIds } from './new-ids.js'
import { type PayloadSlots, Payloads } from './payloads.js'
import { endSchedule, purgeJobs } from './purge.js'
import { quietErrors } from './quiet-errors.js'
import { isRefusedOutcome } from './refused-outcome.js'
import { defaultRetention } from './retention.js'
import { rewriteParts } from './rewrite.js'
import type { ScheduleBackend } from './schedules/contract.js'
import { MissedRuns } from './schedules/missed.js'
import { createNextRun } from './schedules/next-run.js'
import { Occurrences } from './schedules/occurrences.js'
import { Planning } from './schedules/planning.js'
import { readSchedule } from './schedules/timing.js'
import { Search } from './search/service.js'
import { closeWorker, within } from './shutdown.js'
import { storedJobClass, useJobClass } from './stored-job.js'
import type { QueueTelemetry } from './telemetry.js'
import { createViews } from './views.js'
import { createWorker } from './worker.js'

export interface QueuesDeps {
  readonly backend: Queues['backend']
  readonly clock: Clock
  readonly log: Logger
  readonly maxJobBytes: number
  /** Searchable fields by queue, as paths into the data. */
  readonly search: Readonly<Record<string, readonly string[]>>
  /** Parts of the names of secret fields. */
  readonly redact: readonly string[]
  readonly hooks: PayloadSlots
}

/** The service: created in setup, usable from start to stop. */
export interface OwnedQueues extends Queues {
  open(backend: QueueBackend): Promise<void>
  /** Plans schedules again that a wrong clock has planned; call it every second. */
  tick(): Promise<void>
  /** Names of the queues that have schedules. */
  scheduled(): Promise<readonly string[]>
  /** What is wrong with the schedules of a queue. */
  faults: ScheduleBackend['faults']
  /** Everything in the store, to be moved. */
  data(): Promise<DataStore>
  /** Which processes of the app use the store, if it is shared. */
  users(): Promise<string | undefined>
  close(): Promise<void>
}

const closeMs = 1500
/** How long the lock on a job that is being failed keeps workers away; after that a worker fails it. */
const failMs = 30_000
export function createQueues({ backend: kind, clock, log, maxJobBytes, hooks, redact, search: declared }: QueuesDeps): OwnedQueues {
  const onError = quietErrors(log, clock)
  const payloads = new Payloads(
    hooks,
    clock,
    maxJobBytes,
    (queue, error) => onError({ queue, kept: true }, error),
    (queue, plugin, error) =>
      log.error({ queue, plugin, err: error }, `${plugin} failed in its hook after a job was added: ${error.message}`),
  )
  const newId = createJobIds(() => clock.now())
  let jobClass: typeof Job | undefined
  const cancellers = new Set<Canceller>()
  let telemetry: QueueTelemetry | undefined
  let backend: QueueBackend | undefined
  let flow: FlowProducer | undefined
  const queues = new Map<string, Queue>()
  const workers = new Set<Worker>()
  const events = new Set<QueueEvents>()
  /** Ends the event streams. */
  let closing = new AbortController()

  const nextRun = createNextRun()
  const planning = new Planning({
    clock,
    nextRun,
    queue: (name) => queue(name),
    find: (name, id) => ask(() => findJob(name, id)),
    remove: (name, id) => ask(() => opened().schedules.remove(name, id), repeatable),
    restored: (name, data) => payloads.restoreData(name, data),
    ask: (command, repeat) => ask(command, repeat),
  })
  const settings = { repeatStrategy: planning.strategy }

  /** Makes jobs of a queue, worker or flow producer pass through the hooks. */
  const throughHooks = <T extends object>(owner: T): T => {
    const uncount = (name: string, id: string): Promise<void> => opened().flows.uncount(name, id)
    jobClass ??= storedJobClass({ payloads, maxJobBytes, errorOf, forgetIfGone, uncount, store: opened })
    return useJobClass(owner, jobClass)
  }

  const opened = (): QueueBackend => {
    if (!backend) throw queueErrors.QUEUES_NOT_STARTED()
    return backend
  }

  const checkName = (name: string): void => {
    if (!/^[A-Za-z0-9_.-]{1,100}$/.test(name)) throw queueErrors.QUEUE_INVALID_NAME(name)
  }

  /** Converts a retention to the form of the store. */
  const keep: QueueBackend['keep'] = (wanted) => opened().keep(wanted)

  const traced = (): { readonly telemetry?: QueueTelemetry } => (telemetry === undefined ? {} : { telemetry })

  const flowProducer = (): FlowProducer => {
    flow ??= throughHooks(opened().makeFlow(traced())).on('error', (error) => onError({ flow: true }, error))
    return flow
  }

  const queue = (name: string): Queue => {
    const existing = queues.get(name)
    if (existing) return existing
    checkName(name)
    const { makeQueue, remember } = opened()
    const made = throughHooks(makeQueue(name, { ...traced(), settings, defaultJobOptions: defaultRetention(keep) }))
    made.on('error', (error) => onError({ queue: name }, error))
    made.removeJobScheduler = (id) => opened().schedules.remove(name, id)
    queues.set(name, made)
    remember(name)
    return made
  }

  const ask = askOf(opened)

  /** Reads the state first: it is "unknown" for a key that is not a job, whereas reading such a key as a job can fail. */
  const findJob = async (name: string, id: string): Promise<QueueJob | undefined> => {
    const state = isJobId(id) ? await queue(name).getJobState(id) : 'unknown'
    const job = state === 'unknown' ? undefined : await queue(name).getJob(id)
    if (job === undefined) return undefined
    if (state === 'delayed') await withDue(name, [job])
    return { job, state }
  }

  /** Sets when delayed jobs become ready. BullMQ's delay counts from when the job was added, or from when it last failed. */
  const withDue = async (name: string, jobs: readonly Job[]): Promise<void> => {
    const due = await opened().dueAt(
      queue(name),
      jobs.map(({ id = '' }) => id),
    )
    for (const [i, job] of jobs.entries()) if (due[i] !== undefined) Object.assign(job, { readyAt: due[i] })
  }

  const errorOf = async (name: string, id: string): Promise<string | undefined> => {
    const found = await findJob(name, id)
    return found && ((await payloads.readable(found.job)).failedReason || undefined)
  }

  const purged = async (name: string, jobs: readonly PurgedJob[]): Promise<void> => {
    for (const { plugin, error } of await hooks.afterJobsPurge.call(name, jobs)) {
      log.error({ queue: name, plugin, err: error }, `${plugin} failed to remove its data about purged jobs: ${error.message}`)
    }
  }

  const forgetError = (child: FailedChild) => ask(() => forgetChildError(child, { backend: opened(), payloads, queue, after: purged }))

  const forgetIfGone = async (child: FailedChild): Promise<boolean> => {
    if ((await findJob(child.queue, child.id)) !== undefined) return false
    await forgetError(child)
    return true
  }

  const names: Queues['names'] = () => ask(async () => [...new Set([...queues.keys(), ...(await opened().names())])].sort())
  const occurrences = new Occurrences({
    clock,
    log,
    nextRun,
    planning,
    backend: () => opened().schedules,
    find: (name, id) => ask(() => queue(name).getJob(id)) as Promise<Job | undefined>,
  })
  /** Workers that take jobs, by queue. */
  const taking = new Map<string, Set<Worker>>()
  const missed = new MissedRuns({
    clock,
    log,
    nextRun,
    queue,
    ask,
    find: (name, id) => ask(() => findJob(name, id)),
    scheduled: (names) => ask(() => opened().scheduled(names)),
    isServedHere: (name) => taking.has(name),
    lockLeft: (name) => ask(() => opened().schedules.lockLeft(name)),
  })
  const scheduled = async (): Promise<readonly string[]> => {
    const all = await names()
    return ask(() => opened().scheduled(all))
  }
  const storeTime = (): Promise<number> => ask(() => opened().time())
  const deletion = createDeletion({ store: () => opened().deletion, ask, checkName })
  const copy = copying({ isErased: deletion.isErased, storeTime })
  const purgeSchedule: Queues['purgeSchedule'] = (name, id) => endSchedule(queue(name), id, { backend: opened(), ask })
  let ticking = Promise.resolve()
  const late = new LateSchedules({
    isClosing: () => closing.signal.aborted,
    copy,
    purgeSchedule,
    clock,
    log,
    queue,
    scheduled,
    nextRun,
    ask,
    takesTurn: (task, ms) => ask(() => opened().takesTurn(task, ms)),
    storeTime,
  })

  /** Returns the jobs that were removed below it; undefined if it does not wait. */
  const fail = (name: string, id: string, reason: string): Promise<readonly ChangedJob[] | undefined> =>
    ask(async () => {
      if (!isJobId(id)) return undefined
      const token = randomUUID()
      if (!(await opened().claim(queue(name), id, { token, lockMs: failMs, reason }))) return undefined
      const job = await queue(name).getJob(id)
      const below = await opened().flows.removeBelow(name, id)
      await job?.moveToFailed(new (loadBullmq().UnrecoverableError)(reason), token)
      return below
    }, repeatable)

  const failNext: Queues['failNext'] = (name, id, reason) =>
    ask(async () => isJobId(id) && opened().failNext(queue(name), id, reason), repeatable)

  const search = new Search({
    declared,
    slot: hooks.placeJobField,
    store: () => opened().search,
    find: (name, id) => ask(() => findJob(name, id)),
    ask,
    onError: (name, error) => onError({ queue: name, search: true }, error),
  })
  return {
    backend: kind,
    views: createViews({ names: redact, hooks }),
    dropNext: (name, deduplicationId) => ask(() => opened().dropNext(queue(name), deduplicationId), repeatable),
    retryGate: hooks.beforeJobRetry,
    queue,
    worker(name, processor, options = {}) {
      checkName(name)
      const merged = { ...traced(), ...options, settings: { ...options.settings, ...settings } }
      const made = occurrences.watch(throughHooks(createWorker(opened(), name, payloads.around(processor), merged)))
      missed.checkBefore(made, () => {
        if (workers.has(made)) taking.set(name, (taking.get(name) ?? new Set()).add(made))
      })
      made.on('error', (error) => isRefusedOutcome(error) || onError({ queue: name, worker: made.name }, error))
      made.on('closed', () => {
        workers.delete(made)
        const left = taking.get(name)
        if (left?.delete(made) && left.size === 0) taking.delete(name)
      })
      workers.add(made)
      opened().remember(name)
      return made
    },
    events(name) {
      checkName(name)
      const made = opened().makeEvents(name)
      made.on('error', (error) => onError({ queue: name, events: true }, error))
      events.add(made)
      return made
    },
    flow: flowProducer,
    newId,
    ...createAdding({ payloads, maxJobBytes, search, planning, queue, flow: flowProducer, store: opened, newId, ask }),
    schedules: async (name) => (await ask(() => queue(name).getJobSchedulers(0, -1, true))).map(readSchedule),
    fail: async (name, id, reason) => (await fail(name, id, reason)) !== undefined,
    failNext,
    ...createFlows({
      ask,
      checkName,
      isJobId,
      fail,
      noteReady: ({ id, queue: name }) => ask(() => opened().noteReady(queue(name).toKey(id)), repeatable),
      store: () => opened().flows,
    }),
    async job(name, id) {
      const found = await ask(() => findJob(name, id))
      return found && { ...found, job: await payloads.readable(found.job) }
    },
    async logs(name, id, { limit, offset }) {
      const page = { offset, limit: Math.max(0, limit) }
      const of = { queueName: name, id, toKey: (key: string) => queue(name).toKey(key) }
      const { lines, ...others } = await ask(() => opened().readLogs(of, page))
      return { ...others, logs: await Promise.all(lines.map((line) => payloads.shownText(name, line, 'log'))) }
    },
    rewrite: (name, id, options) => ask(() => rewriteParts({ backend: opened(), payloads, queue: queue(name) }, id, options), repeatable),
    change: (work) => ask(work, repeatable),
    storedText: (name, text, part) => payloads.transformText(name, text, part),
    restoredText: (name, text, part) => payloads.shownText(name, text, part),
    unlocked: (name, ids) => ask(() => opened().flows.unlocked(name, ids)),
    purge: (name, ids, { only, unlocked = false } = {}) =>
      purgeJobs(queue(name), ids, {
        only,
        unlocked,
        backend: opened(),
        find: (id) => ask(() => findJob(name, id)),
        fail: async (id) => (await fail(name, id, 'Purged')) !== undefined,
        forgetError: ({ id = '', parentKey }) => forgetError({ queue: name, id, parentKey }),
        unindex: (jobs) => search.removed(name, jobs),
        ask,
        after: (jobs) => purged(name, jobs),
      }),
    purgeSchedule,
    copy,
    ...deletion,
    data: () => opened().data(Object.keys(declared).length === 0 ? undefined : (name, jobs) => search.added(name, jobs)),
    users: () => opened().users(),
    note: (of) => ask(() => opened().note(of)),
    setNote: (of, text) => ask(() => opened().setNote(of, text), repeatable),
    scrub: () => opened().scrub(),
    searchFields: declared,
    async find(name, values, { limit }) {
      const found = await search.find(name, values, limit)
      for (const { job } of found.jobs) await payloads.readable(job)
      return found
    },
    restoredData: (job) => payloads.restoreData(job.queueName, job.data),
    restoredResult: (job) => payloads.restoreResult(job.queueName, job.returnvalue),
    async cancel(name, id, why, { timeoutMs } = {}) {
      const late = `no response within ${timeoutMs} ms`
      const { where } = opened()
      const unknown = (): Error => queueErrors.JOB_OUTCOME_UNKNOWN(where, late, repeatable)
      const inTime = <T>(step: Promise<T>, onLate = unknown): Promise<T> =>
        timeoutMs === undefined ? step : withDeadline(step, timeoutMs, onLate)
      const request = { queue: name, job: id, reason: cancelReason(why) }
      return cancelJob(request, {
        find: () =>
          inTime(
            ask(() => findJob(name, id)),
            () => queueErrors.QUEUE_CONNECTION_ERROR(where, late),
          ),
        remove: () => inTime(ask(() => opened().flows.removeJob(name, id, { ended: false }), repeatable)),
        fail: (reason) => inTime(fail(name, id, reason)),
        failNext: (reason) => inTime(failNext(name, id, reason)),
        here: (asked) =>
          [...(taking.get(name) ?? [])].some((worker) => worker.cancelJob(id, asked.reason)) ||
          [...cancellers].some((canceller) => canceller.here(asked)),
        elsewhere: async (asked) => (await Promise.all([...cancellers].map((canceller) => canceller.elsewhere(asked)))).includes(true),
      })
    },
    addCanceller(canceller) {
      cancellers.add(canceller)
      return () => void cancellers.delete(canceller)
    },
    nextRun,
    ...createCounting({ store: opened, queue, checkName, ask }),
    async follow(name, { after, signal } = {}) {
      const from = after ?? (await ask(() => opened().lastEvent(queue(name)))) ?? beforeAll
      const reachesBack = (id: string): Promise<boolean> => ask(() => opened().reachesBack(queue(name), id))
      if (after !== undefined && !isEventId(after)) throw queueErrors.QUEUE_EVENTS_LOST(name, 'that id')
      if (after !== undefined && after !== beforeAll && !(await reachesBack(after))) throw queueErrors.QUEUE_EVENTS_LOST(name, after)
      const made = opened().makeEvents(name, { autorun: false })
      made.on('error', (error) => onError({ queue: name, events: true }, error))
      const { isUnavailable } = opened()
      const ends = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal])
      events.add(made)
      const onEnd = (): void => void events.delete(made)
      return readEvents({ queue: name, events: made, from, reachesBack, isUnavailable, signal: ends, onEnd })
    },
    setTelemetry(given) {
      if (telemetry !== undefined) throw queueErrors.QUEUE_TELEMETRY_SET()
      telemetry = given
      return () => {
        if (telemetry === given) telemetry = undefined
      }
    },
    async list(name, state, { after, offset = 0, limit, payload = true }) {
      const read = (): Promise<readonly Job[]> =>
        after === undefined
          ? opened().page(queue(name), state, offset, limit, payload)
          : opened().pageAfter(queue(name), state, after, limit)
      const jobs = limit < 1 ? [] : await ask(read)
      if (state === 'delayed' && jobs.length > 0) await ask(() => withDue(name, jobs))
      return Promise.all(jobs.map((job) => payloads.readable(job)))
    },
    names,
    async ping(signal) {
      signal?.throwIfAborted()
      const started = clock.monotonic()
      await ask(() => opened().ping(signal))
      return Math.round(clock.monotonic() - started)
    },
    isUnavailable: (error) => isOwnUnavailable(error) || (backend?.isUnavailable(error) ?? false),
    tick() {
      ticking = late.tick()
      return ticking
    },
    scheduled,
    faults: (name, page) => ask(() => opened().schedules.faults(name, page)),
    async open(made) {
      backend = made
      closing = new AbortController()
      await search.open()
    },
    async close() {
      const closed = backend
      if (!closed) return
      closing.abort()
      // Consumers first: they still have to write the outcomes of their jobs to the store.
      const ended = await Promise.all([...workers].map(async (worker) => [worker.name, await closeWorker(worker)] as const))
      const left = ended.filter(([, clean]) => !clean).map(([name]) => name)
      if (left.length > 0) log.warn({ queues: left }, 'some jobs did not finish in time; they will run again later')
      // A command on a closed embedded store never ends. Redis rejects it.
      const ticked = kind === 'embedded' ? ticking.catch(() => undefined) : undefined
      const closes = [...events, ...queues.values(), ...(flow ? [flow] : [])].map((one) => one.close())
      await within(Promise.all([ticked, ...closes]), closeMs)
      workers.clear()
      taking.clear()
      events.clear()
      queues.clear()
      flow = undefined
      backend = undefined
      await closed.close()
    },
  }
}

/** `<ms>-<n>` on Redis, a number on the embedded store. */
function isEventId(id: string): boolean {
  return /^\d{1,19}(-\d{1,19})?$/.test(id)
}

const unavailable: ReadonlySet<unknown> = new Set([
  'QUEUE_CONNECTION_ERROR',
  'QUEUE_DISK_FULL',
  'QUEUE_DATA_TAKEN',
  'JOB_OUTCOME_UNKNOWN',
  'QUEUES_NOT_STARTED',
])

function isOwnUnavailable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && unavailable.has(error.code)
}
