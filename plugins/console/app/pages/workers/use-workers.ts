import { useEffect, useRef, useState } from 'preact/hooks'
import type { WorkerEvent, WorkerPage, WorkerView } from 'zin/plugins/workers'
import type { ConsoleData } from '../../../contract.js'
import { ApiError, request } from '../../data/api.js'
import { messageOf } from '../../data/message.js'
import { useStream } from '../../data/stream.js'

/** Changes are batched for this long before the changed workers are read, in ms. */
const gatherMs = 1_000
/** If more workers than this have changed, all are read again. */
const fewWorkers = 8
const perPage = 100

/** Workers that changed but could not be read again, with the error of each. */
export type UnreadWorkers = ReadonlyMap<string, ApiError>

export interface WorkerList extends ConsoleData<readonly WorkerView[]> {
  /** Those that are listed are shown as they were before the change. */
  readonly unread: UnreadWorkers
  /** Reads them again. */
  readonly retry: () => void
}

/** All workers: read once, then updated for each worker that the event stream reports as changed. */
export function useWorkers(): WorkerList {
  const [held, set] = useState<Omit<WorkerList, 'reload' | 'retry'>>(nothing)
  const changed = useRef(new Set<string>())
  /** Removed during a read, whose result may still contain them. */
  const removed = useRef(new Set<string>())
  const reads = useRef(0)
  const readingAll = useRef<AbortController | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const abort = useRef(new AbortController())
  const schedule = (): void => {
    if (changed.current.size > 0) timer.current ??= setTimeout(() => latest.current(), gatherMs)
  }
  const settle = (work: Promise<WorkersRead>, whole: boolean): void => {
    const mine = abort.current
    reads.current++
    if (whole) readingAll.current = mine
    work
      .then(
        (read) => {
          if (mine.signal.aborted) return
          const gone = new Set(removed.current)
          set((before) => ({
            data: merged(whole ? [] : (before.data ?? []), read, gone),
            unread: unreadOf(whole ? new Map() : before.unread, read, gone),
            error: undefined,
            loading: false,
            at: Date.now(),
          }))
        },
        (error: unknown) => {
          if (mine.signal.aborted) return
          const known = error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', messageOf(error))
          set((before) => ({ ...before, error: known, loading: false }))
        },
      )
      .finally(() => {
        if (--reads.current === 0) removed.current.clear()
        if (!whole || readingAll.current !== mine) return
        readingAll.current = undefined
        if (!mine.signal.aborted) schedule()
      })
  }
  const reload = (): void => {
    abort.current.abort()
    abort.current = new AbortController()
    changed.current.clear()
    settle(readAll(abort.current.signal), true)
  }
  const follow = (): void => {
    timer.current = undefined
    // Workers that change while all are read are read again afterwards.
    if (readingAll.current !== undefined) return
    const names = [...changed.current]
    changed.current.clear()
    if (held.data === undefined || names.length > fewWorkers) reload()
    else settle(readSome(names, abort.current.signal), false)
  }
  const latest = useRef(follow)
  latest.current = follow
  useStream('/api/workers/events', (event, data) => {
    const { worker } = data as WorkerEvent
    if (worker === undefined) return
    if (event === 'removed') {
      changed.current.delete(worker)
      if (reads.current > 0) removed.current.add(worker)
      const gone = new Set([worker])
      set((before) => ({
        ...before,
        data: before.data?.filter(({ name }) => name !== worker),
        unread: unreadOf(before.unread, new Map(), gone),
      }))
    } else {
      // It may have been created again.
      if (event === 'changed') removed.current.delete(worker)
      changed.current.add(worker)
    }
    schedule()
  })
  useEffect(() => {
    reload()
    return () => {
      clearTimeout(timer.current)
      abort.current.abort()
    }
  }, [])
  const retry = (): void => {
    for (const name of held.unread.keys()) changed.current.add(name)
    clearTimeout(timer.current)
    follow()
  }
  return { ...held, reload, retry }
}

const nothing = { data: undefined, unread: new Map(), error: undefined, loading: true, at: undefined }

/** Workers by name; `undefined`: it does not exist; an error: it could not be read. */
type WorkersRead = ReadonlyMap<string, WorkerView | ApiError | undefined>

function merged(known: readonly WorkerView[], read: WorkersRead, removed: ReadonlySet<string>): readonly WorkerView[] {
  const byName = new Map(known.map((worker) => [worker.name, worker]))
  for (const [name, worker] of read) {
    if (worker === undefined || removed.has(name)) byName.delete(name)
    else if (!(worker instanceof ApiError)) byName.set(name, worker)
  }
  return [...byName.values()]
}

function unreadOf(known: UnreadWorkers, read: WorkersRead, removed: ReadonlySet<string>): UnreadWorkers {
  const byName = new Map(known)
  for (const [name, worker] of read) {
    if (worker instanceof ApiError) byName.set(name, worker)
    else byName.delete(name)
  }
  for (const name of removed) byName.delete(name)
  return byName
}

async function readAll(signal: AbortSignal): Promise<WorkersRead> {
  const all = new Map<string, WorkerView>()
  for (let page = 1, pages = 1; page <= pages; page++) {
    const read = await request<WorkerPage>('GET', `/api/workers?includeInactive=true&limit=${perPage}&page=${page}`, undefined, signal)
    for (const worker of read.workers) all.set(worker.name, worker)
    pages = read.pagination.totalPages
  }
  return all
}

/** Reads each worker on its own, so that one that cannot be read does not hide the others. Throws if the app does not respond at all. */
async function readSome(names: readonly string[], signal: AbortSignal): Promise<WorkersRead> {
  const read = await Promise.all(names.map(async (name) => [name, await readOne(name, signal)] as const))
  const failed = read.flatMap(([, worker]) => (worker instanceof ApiError ? [worker] : []))
  const [first] = failed
  if (first !== undefined && failed.length === names.length && failed.every(({ status }) => status === 0 || status === 401)) throw first
  return new Map(read)
}

async function readOne(name: string, signal: AbortSignal): Promise<WorkerView | ApiError | undefined> {
  try {
    return (await request<{ worker: WorkerView }>('GET', `/api/workers/${encodeURIComponent(name)}`, undefined, signal)).worker
  } catch (error) {
    if (signal.aborted) throw error
    if (!(error instanceof ApiError)) return new ApiError(0, 'UNREADABLE', messageOf(error))
    return error.status === 404 ? undefined : error
  }
}
