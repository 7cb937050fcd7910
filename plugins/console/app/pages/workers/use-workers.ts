import { useEffect, useRef, useState } from 'preact/hooks'
import type { WorkerEvent, WorkerPage, WorkerView } from 'zin/plugins/workers'
import type { ConsoleData } from '../../../contract.js'
import { ApiError, request } from '../../data/api.js'
import { messageOf } from '../../data/message.js'
import { useStream } from '../../data/stream.js'

/** Changes are collected so long before the workers that changed are read, ms. */
const gatherMs = 1_000
/** From so many changed workers on, all are read again. */
const fewWorkers = 8
const perPage = 100

/** All workers: read once, then those that the stream says have changed. */
export function useWorkers(): ConsoleData<readonly WorkerView[]> {
  const [held, set] = useState<Omit<ConsoleData<readonly WorkerView[]>, 'reload'>>(nothing)
  const changed = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const abort = useRef(new AbortController())
  const settle = (work: Promise<readonly WorkerView[]>, mine: AbortController): void => {
    work.then(
      (data) => mine.signal.aborted || set({ data, error: undefined, loading: false, at: Date.now() }),
      (error: unknown) => {
        if (mine.signal.aborted) return
        const known = error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', messageOf(error))
        set((before) => ({ ...before, error: known, loading: false }))
      },
    )
  }
  const reload = (): void => {
    abort.current.abort()
    abort.current = new AbortController()
    changed.current.clear()
    settle(readAll(abort.current.signal), abort.current)
  }
  const follow = (): void => {
    timer.current = undefined
    const names = [...changed.current]
    changed.current.clear()
    if (held.data === undefined || names.length > fewWorkers) reload()
    else settle(readSome(held.data, names, abort.current.signal), abort.current)
  }
  const latest = useRef(follow)
  latest.current = follow
  useStream('/api/workers/events', (event, data) => {
    const { worker } = data as WorkerEvent
    if (worker === undefined) return
    if (event === 'removed') set((before) => ({ ...before, data: before.data?.filter(({ name }) => name !== worker) }))
    else changed.current.add(worker)
    if (changed.current.size > 0) timer.current ??= setTimeout(() => latest.current(), gatherMs)
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

async function readAll(signal: AbortSignal): Promise<readonly WorkerView[]> {
  const all = new Map<string, WorkerView>()
  for (let page = 1, pages = 1; page <= pages; page++) {
    const read = await request<WorkerPage>('GET', `/api/workers?includeInactive=true&limit=${perPage}&page=${page}`, undefined, signal)
    for (const worker of read.workers) all.set(worker.name, worker)
    pages = read.pagination.totalPages
  }
  return [...all.values()]
}

/** Those of these names anew, the others as they were. */
async function readSome(known: readonly WorkerView[], names: readonly string[], signal: AbortSignal): Promise<readonly WorkerView[]> {
  const read = await Promise.all(
    names.map((name) =>
      request<{ worker: WorkerView }>('GET', `/api/workers/${encodeURIComponent(name)}`, undefined, signal).then(
        ({ worker }) => worker,
        (error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return undefined
          throw error
        },
      ),
    ),
  )
  const byName = new Map(known.map((worker) => [worker.name, worker]))
  for (const [index, worker] of read.entries()) {
    if (worker === undefined) byName.delete(names[index] ?? '')
    else byName.set(worker.name, worker)
  }
  return [...byName.values()]
}
