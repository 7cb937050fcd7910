import { useEffect, useState } from 'preact/hooks'
import type { ConsolePlace } from '../contract.js'

export const base = '/console'

type Listener = () => void

/** Keeps the state of the page in the URL. */
class Router {
  readonly #listeners = new Set<Listener>()

  constructor() {
    addEventListener('popstate', () => this.#notify())
  }

  /** Path below `/console`, with a leading slash. */
  get path(): string {
    return location.pathname.slice(base.length).replace(/\/+$/, '') || '/'
  }

  get search(): string {
    return location.search
  }

  go(to: string, replace = false): void {
    const url = `${base}${to === '/' ? '' : to}` || base
    if (replace) history.replaceState(null, '', url)
    else if (url !== location.pathname + location.search) history.pushState(null, '', url)
    this.#notify()
    if (!replace) scrollTo(0, 0)
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

export const router = new Router()

/** Returns the current path and query, and re-renders when they change. */
export function useAddress(): { readonly path: string; readonly search: string } {
  const [address, set] = useState({ path: router.path, search: router.search })
  useEffect(() => router.on(() => set({ path: router.path, search: router.search })), [])
  return address
}

/** Changes query parameters; undefined and '' remove a parameter. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(router.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  }
  router.go(`${router.path}${query.size === 0 ? '' : `?${query}`}`, true)
}

/** Matches a path against a pattern like `/queues/:name`; undefined if it does not match. */
export function placeOf(pattern: string, path: string, search: string): ConsolePlace | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? ''
    if (part.startsWith(':')) {
      try {
        params[part.slice(1)] = decodeURIComponent(text)
      } catch {
        return undefined
      }
    } else if (part !== text) return undefined
  }
  return { params, query: new URLSearchParams(search) }
}

/** Builds a path with encoded values: `` path`/queues/${name}` ``. */
export function path(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return strings.reduce((made, text, index) => `${made}${index === 0 ? '' : encodeURIComponent(values[index - 1] ?? '')}${text}`, '')
}
