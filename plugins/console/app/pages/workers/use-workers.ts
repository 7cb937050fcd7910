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

/** All workers: read once, then updated for each worker that the event stream reports as changed. */
export function useWorkers(): ConsoleData<readonly WorkerView[]> {
  const [held, set] = useState<Omit<ConsoleData<readonly WorkerView[]>, 'reload'>>(nothing)
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
      set((before) => ({ ...before, data: before.data?.filter(({ name }) => name !== worker) }))
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
  return { ...held, reload }
}

const nothing = { data: undefined, error: undefined, loading: true, at: undefined }

/** Workers by name; `undefined`: it does not exist. */
type WorkersRead = ReadonlyMap<string, WorkerView | undefined>

function merged(known: readonly WorkerView[], read: WorkersRead, removed: ReadonlySet<string>): readonly WorkerView[] {
  const byName = new Map(known.map((worker) => [worker.name, worker]))
  for (const [name, worker] of read) {
    if (worker === undefined || removed.has(name)) byName.delete(name)
    else byName.set(name, worker)
  }
  return [...byName.values()]
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

async function readSome(names: readonly string[], signal: AbortSignal): Promise<WorkersRead> {
  const read = names.map(async (name): Promise<readonly [string, WorkerView | undefined]> => {
    try {
      const { worker } = await request<{ worker: WorkerView }>('GET', `/api/workers/${encodeURIComponent(name)}`, undefined, signal)
      return [name, worker]
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return [name, undefined]
      throw error
    }
  })
  return new Map(await Promise.all(read))
}
