import type { ComponentChildren } from 'preact'
import type { ConsoleData } from '../../contract.js'
import { useNow } from '../data/clock.js'
import { duration } from '../format.js'
import { Icon } from './icon.js'

/** An empty state with a hint. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="dim">{children}</div>}
    </div>
  )
}

export function Loading({ what = 'Loading' }: { readonly what?: string }) {
  return (
    <p class="loading" role="status">
      {what}…
    </p>
  )
}

/** An error with a title and, where it makes sense, a retry button. */
export function Problem({ error, retry }: { readonly error: NonNullable<ConsoleData<unknown>['error']>; readonly retry: () => void }) {
  const { code, message, status } = error
  const title =
    status === 0
      ? 'The app does not respond'
      : status === 401
        ? 'Your credentials are not accepted here'
        : status === 403
          ? 'You do not have access to this'
          : status === 404
            ? 'Not found'
            : 'This could not be loaded'
  return (
    <div class="problem" role="alert">
      <p class="empty-title">
        <Icon name={status === 403 || status === 404 ? 'info' : 'bad'} /> {title}
      </p>
      <p>{message}</p>
      <p class="dim mono">{code}</p>
      {status !== 403 && status !== 404 && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Renders loaded data, or a loading or error state. If a later read failed, the data is shown with a note on its age. */
export function Loaded<T>({ children, from, what }: { from: ConsoleData<T>; what?: string; children: (data: T) => ComponentChildren }) {
  const { data, error, reload } = from
  if (data === undefined)
    return error === undefined ? <Loading {...(what === undefined ? {} : { what })} /> : <Problem error={error} retry={reload} />
  return (
    <>
      {error !== undefined && <Stale at={from.at} message={error.message} retry={reload} />}
      {children(data)}
    </>
  )
}

export function Stale({ at, message, retry }: { readonly at: number | undefined; readonly message: string; readonly retry: () => void }) {
  const now = useNow()
  return (
    <p class="stale" role="status">
      <Icon name="warn" />
      <span>
        {at === undefined ? 'Not loaded yet' : `Last updated ${duration(now - at)} ago`}: {message}
      </span>
      <button type="button" class="button small" onClick={retry}>
        Try again
      </button>
    </p>
  )
}
