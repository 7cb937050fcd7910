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
  readonly error: ConsoleData<unknown>['error']
  readonly rowAt: (index: number) => Row | undefined
  readonly onWindow: (first: number, end: number) => void
  /** Discards all pages and reads the first one again. */
  readonly reload: () => void
}

/** A list that is loaded page by page while scrolling, with `page` and `limit` in the query of `path`. */
export function usePagedRows<Row>(path: string | undefined, rowsOf: (body: never) => Page<Row>): PagedRows<Row> {
  const [, redraw] = useState(0)
  const pages = useRef(new Map<number, readonly Row[] | 'asked'>())
  const state = useRef<{ total: number | undefined; error: ConsoleData<unknown>['error']; abort: AbortController }>({
    total: undefined,
    error: undefined,
    abort: new AbortController(),
  })
  /** First row of the previous window. */
  const seen = useRef(0)
  const ask = (page: number): void => {
    if (path === undefined || pages.current.has(page)) return
    pages.current.set(page, 'asked')
    const { abort } = state.current
    request<never>('GET', `${path}${path.includes('?') ? '&' : '?'}page=${page + 1}&limit=${pageSize}`, undefined, abort.signal).then(
      (body) => {
        const { rows, total } = rowsOf(body)
        pages.current.set(page, rows)
        const [oldest] = pages.current.keys()
        if (pages.current.size > mostPages && oldest !== undefined) pages.current.delete(oldest)
        state.current.total = total
        state.current.error = undefined
        redraw((number) => number + 1)
      },
      (error: unknown) => {
        if (abort.signal.aborted) return
        pages.current.delete(page)
        state.current.error = error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', String(error))
        redraw((number) => number + 1)
      },
    )
  }
  const start = (): void => {
    state.current.abort.abort()
    state.current.abort = new AbortController()
    pages.current.clear()
    ask(0)
  }
  useEffect(() => {
    state.current.total = undefined
    state.current.error = undefined
    start()
    redraw((number) => number + 1)
    return () => state.current.abort.abort()
  }, [path])
  return {
    total: state.current.total,
    error: state.current.error,
    rowAt: (index) => {
      const page = pages.current.get(Math.floor(index / pageSize))
      return page === undefined || page === 'asked' ? undefined : page[index % pageSize]
    },
    onWindow: (first, end) => {
      const pageOf = (index: number): number => Math.floor(index / pageSize)
      const [from, to] = [pageOf(first), pageOf(Math.max(first, end - 1))]
      for (let page = from; page <= to; page++) ask(page)
      // Prefetch the next page in the scroll direction.
      const next = first > seen.current ? to + 1 : first < seen.current ? from - 1 : -1
      if (next >= 0 && next * pageSize < (state.current.total ?? 0)) ask(next)
      seen.current = first
    },
    reload: start,
  }
}
