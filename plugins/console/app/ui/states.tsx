import type { ComponentChildren } from 'preact'
import type { ConsoleData } from '../../contract.js'
import { useNow } from '../data/clock.js'
import { duration } from '../format.js'
import { Icon } from './icon.js'

/** Nothing to show, and what to do next. */
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

/** What failed, and what helps. */
export function Problem({ error, retry }: { readonly error: NonNullable<ConsoleData<unknown>['error']>; readonly retry: () => void }) {
  const { code, message, status } = error
  const title =
    status === 0
      ? 'The app does not respond'
      : status === 401
        ? 'You are not signed in for this'
        : status === 403
          ? 'Your credentials do not cover this'
          : status === 404
            ? 'Not found'
            : 'This could not be read'
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

/** Shows what was read; while reading it again fails, with a line that says how old it is. */
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
        {at === undefined ? 'Not read yet' : `As it was ${duration(now - at)} ago`}: {message}
      </span>
      <button type="button" class="button small" onClick={retry}>
        Try again
      </button>
    </p>
  )
}
