import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConsoleData } from '../../contract.js'
import { ApiError, request } from './api.js'

const pageSize = 100
/** Pages cached while scrolling. */
const mostPages = 30

interface Page<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

export interface PagedRows<Row> {
  /** Undefined until the first page is loaded. */
  readonly total: number | undefined
  /** Why the last read failed; the rows read before are kept. */
  readonly error: ConsoleData<unknown>['error']
  /** Time of the last successful read, in ms since the Unix epoch. */
  readonly at: number | undefined
  readonly rowAt: (index: number) => Row | undefined
  readonly onWindow: (first: number, end: number) => void
  /** Reads the rows on the screen again, and discards all others. */
  readonly reload: () => void
}

interface State {
  total: number | undefined
  error: ConsoleData<unknown>['error']
  at: number | undefined
  abort: AbortController
  /** First row of the previous window. */
  first: number
  /** The first and the last page of the window. */
  shown: readonly [from: number, to: number]
}

/** A list that is loaded page by page while scrolling, with `page` and `limit` in the query of `path`. */
export function usePagedRows<Row>(path: string | undefined, rowsOf: (body: never) => Page<Row>): PagedRows<Row> {
  const [, redraw] = useState(0)
  const pages = useRef(new Map<number, readonly Row[] | 'asked'>())
  const { current: state } = useRef<State>({
    total: undefined,
    error: undefined,
    at: undefined,
    abort: new AbortController(),
    first: 0,
    shown: [0, 0],
  })
  const isShown = (page: number): boolean => page >= state.shown[0] && page <= state.shown[1]
  /** Reads pages and shows them together, so that no row is listed twice meanwhile. */
  const load = (wanted: readonly number[]): void => {
    if (path === undefined) return
    for (const page of wanted) if (!pages.current.has(page)) pages.current.set(page, 'asked')
    const { signal } = state.abort
    const read = wanted.map(async (page) => {
      const url = `${path}${path.includes('?') ? '&' : '?'}page=${page + 1}&limit=${pageSize}`
      return { page, ...rowsOf(await request<never>('GET', url, undefined, signal)) }
    })
    Promise.all(read)
      .then(
        (found) => {
          if (signal.aborted) return
          for (const { page, rows, total } of found) {
            pages.current.set(page, rows)
            state.total = total
          }
          const spare = [...pages.current.keys()].filter((page) => !isShown(page))
          for (const page of spare.slice(0, Math.max(0, pages.current.size - mostPages))) pages.current.delete(page)
          Object.assign(state, { error: undefined, at: Date.now() })
        },
        (error: unknown) => {
          if (signal.aborted) return
          for (const page of wanted) if (pages.current.get(page) === 'asked') pages.current.delete(page)
          state.error = error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', String(error))
        },
      )
      .finally(() => redraw((number) => number + 1))
  }
  const ask = (page: number): void => {
    if (!pages.current.has(page)) load([page])
  }
  const reload = (): void => {
    state.abort.abort()
    state.abort = new AbortController()
    for (const [page, rows] of pages.current) if (rows === 'asked' || !isShown(page)) pages.current.delete(page)
    const [from, to] = state.shown
    load(Array.from({ length: to - from + 1 }, (_, offset) => from + offset))
  }
  useEffect(() => {
    pages.current.clear()
    Object.assign(state, { total: undefined, error: undefined, at: undefined, first: 0, shown: [0, 0] })
    reload()
    redraw((number) => number + 1)
    return () => state.abort.abort()
  }, [path])
  return {
    total: state.total,
    error: state.error,
    at: state.at,
    rowAt: (index) => {
      const page = pages.current.get(Math.floor(index / pageSize))
      return page === undefined || page === 'asked' ? undefined : page[index % pageSize]
    },
    onWindow: (first, end) => {
      const pageOf = (index: number): number => Math.floor(index / pageSize)
      const [from, to] = [pageOf(first), pageOf(Math.max(first, end - 1))]
      state.shown = [from, to]
      for (let page = from; page <= to; page++) ask(page)
      // Prefetch the next page in the scroll direction.
      const next = first > state.first ? to + 1 : first < state.first ? from - 1 : -1
      if (next >= 0 && next * pageSize < (state.total ?? 0)) ask(next)
      state.first = first
    },
    reload,
  }
}
