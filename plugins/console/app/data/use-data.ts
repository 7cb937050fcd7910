import { useEffect, useRef, useState } from 'preact/hooks'
import type { ConsoleData } from '../../contract.js'
import { ApiError, request } from './api.js'
import { unauthorized } from './session.js'
import { paused } from './stream.js'

interface Held<T> {
  readonly path: string | undefined
  readonly data: T | undefined
  readonly error: ApiError | undefined
  readonly loading: boolean
  readonly at: number | undefined
}

/** Fetches JSON from the app, and again every `refresh` ms while the tab is visible and not paused. Data is kept when a later read fails. */
export function useData<T>(path: string | undefined, { refresh }: { readonly refresh?: number } = {}): ConsoleData<T> {
  const none: Held<T> = { path, data: undefined, error: undefined, loading: path !== undefined, at: undefined }
  const [held, set] = useState<Held<T>>(none)
  const reload = useRef<() => void>(() => undefined)
  useEffect(() => {
    if (path === undefined) return undefined
    let abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const again = (): void => {
      clearTimeout(timer)
      if (refresh !== undefined && !document.hidden && !paused.value) timer = setTimeout(load, refresh)
    }
    const load = (): void => {
      abort.abort()
      const mine = new AbortController()
      abort = mine
      set((before) => ({ ...(before.path === path ? before : none), loading: true }))
      request<T>('GET', path, undefined, mine.signal)
        .then(
          (data) => set({ path, data, error: undefined, loading: false, at: Date.now() }),
          (error: unknown) => {
            if (mine.signal.aborted) return
            const known = error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', 'The response of the app could not be read')
            if (known.status === 401) unauthorized()
            set((before) => ({ ...before, error: known, loading: false }))
          },
        )
        .finally(() => {
          if (!mine.signal.aborted) again()
        })
    }
    const onChange = (): void => {
      clearTimeout(timer)
      if (refresh !== undefined && !document.hidden && !paused.value) load()
    }
    reload.current = load
    load()
    document.addEventListener('visibilitychange', onChange)
    const off = paused.on(onChange)
    return () => {
      clearTimeout(timer)
      abort.abort()
      off()
      document.removeEventListener('visibilitychange', onChange)
    }
  }, [path, refresh])
  const shown = held.path === path ? held : none
  return { data: shown.data, error: shown.error, loading: shown.loading, at: shown.at, reload: () => reload.current() }
}
